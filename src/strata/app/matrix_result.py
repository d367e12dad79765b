"""A matrix from what is kept of its run; apart from what measures one, so that reading it loads no engine."""

from __future__ import annotations

from strata import units
from strata.model.matrix import MatrixResult
from strata.model.result import CellResult
from strata.model.run import Run


def matrix_result(run: Run, results: tuple[CellResult, ...]) -> MatrixResult:
    """The matrix of a run as it stands in the store, worked out again from its visits."""
    from strata.analyse.matrix.result import cells_of, within

    ask, end = run.plan.matrix, run.matrix_end
    assert ask is not None, "not a matrix"
    cells, noise = cells_of(run.plan, results, run.earlier, run.generator)
    done = [r.result for r in results if r.result is not None]
    remarks = [run.message] if run.message else []
    bound = sum(c.generator_bound for c in cells)
    if bound:
        remarks.append(f"{bound} cells are within a fifth of what the generator does alone: theirs is its limit too")
    moved = sum(c.moved for c in cells)
    if moved:
        remarks.append(f"{moved} cells were not of one level from visit to visit; they are not smoothed")
    spent = sum(r.measured_ns + r.ramp_ns for r in done) / units.NS_PER_S
    return MatrixResult(
        run=run.id,
        where=" + ".join(layer.endpoint for layer in run.plan.stack.layers),
        ask=ask,
        layers=tuple(layer.name for layer in run.plan.stack.layers),
        cells=cells,
        noise=noise,
        predictions=() if end is None else end.predictions,
        seconds=spent if end is None else end.seconds,
        start_s=run.plan.ramp_s if end is None else end.start_s,
        ended=run.status.value if end is None else end.ended,
        reached=within(run.plan, cells, ask),
        held_out=None if end is None else end.held_out,
        written=sum(r.write.bytes for r in done),
        remarks=tuple(remarks),
        created_unix_ns=run.created_unix_ns,
        survey=run.survey,
        repeat=run.environment.called_again,
        environment={"hostname": run.environment.hostname, "engine": run.environment.engine.get("name"), "build":
                     run.environment.build, "strata": run.environment.strata_version,
                     "kernel": run.environment.kernel},
    )  # fmt: skip
