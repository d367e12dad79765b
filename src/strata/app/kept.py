"""What is in the store: runs as reports or matrices, and the list of them.

Apart from what makes runs: a command that only reads loads neither the engine nor the probes.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from strata import units
from strata.app.demos import DEMO_PREFIX
from strata.app.going_on import next_step
from strata.errors import InconclusiveError, UsageError
from strata.host import shipped
from strata.host.runlock import held
from strata.model.analysis import Analysis
from strata.model.endpoint import OWN_SERVER, SCHEMES, Endpoint, own_export
from strata.model.finding import Diagnosis, Verdict
from strata.model.fio_words import entering
from strata.model.matrix import MatrixResult
from strata.model.remembered import EVERY, RunHead, Wanted
from strata.model.result import CellResult
from strata.model.run import Label, Report, Run, RunStatus
from strata.model.scale import ScaleResult

if TYPE_CHECKING:
    from strata.store import Store


def opened(url: str | None) -> AbstractContextManager[Store]:
    """The SQL library takes longer to load than the rest of Strata: only commands that keep or read runs load it."""
    from strata.store import open_store

    return open_store(url)


def load_kept(run_id: str | None, store_url: str | None) -> Report | MatrixResult | ScaleResult:
    """A run from the store as what it is: a report, a matrix, or a sweep."""
    with opened(store_url) as store:
        run = store.load_run(run_id) if run_id else store.latest()
        if run is not None and run.plan.matrix is not None:
            known = store.matrix(run.id) if run.status is RunStatus.DONE else None
            return known or matrix_result(run, store.cells(run.id))
        if run is not None and run.plan.scale is not None:
            return scale_result(run, store.cells(run.id))
    return load_report(run_id, store_url)


def load_report(run_id: str | None, store_url: str | None, *, cells: bool = True) -> Report:
    """A run from the store with its analysis; the newest when no id is given. Raises when there is no outcome.

    Without ``cells`` it has no results: what is asked of the verdict alone need not unpack every histogram and series.
    """
    with opened(store_url) as store:
        run = store.load_run(run_id) if run_id else store.latest()
        if run is None:
            raise UsageError("the store has no runs", "", "", "measure one: strata diagnose PATH")
        outcome = store.outcome(run.id)
        if outcome is None:
            raise InconclusiveError("run", run.id, f"it is {run.status.value} and has no verdict", next_step(run))
        return report_of(store.cells(run.id) if cells else (), run, *outcome)


def list_runs(
    limit: int, store_url: str | None, wanted: Wanted = EVERY, *, demos: bool = True, skip: int = 0
) -> tuple[tuple[RunHead, ...], dict[str, Verdict]]:
    """The newest of the runs ``wanted`` first, without the newest ``skip``, and the verdicts of those that have one, by
    run id."""
    if not demos:
        wanted = wanted.model_copy(update={"not_of": tuple(DEMO_PREFIX + name for name in shipped.demos())})
    with opened(store_url) as store:
        runs = store.heads(limit, wanted, skip)
        return runs, store.verdicts(run.id for run in runs)


def since_of(text: str, now_unix_ns: int) -> int:
    """ns since the epoch of a date (``2026-11-20``, UTC), or of so long ago (``7d``). Raises `UsageError`."""
    try:
        there = datetime.fromisoformat(text)
        return round((there if there.tzinfo else there.replace(tzinfo=UTC)).timestamp()) * units.NS_PER_S
    except ValueError:
        pass
    days = text.strip().removesuffix("d")
    try:
        ago = int(days) * 24 * 3600 * units.NS_PER_S if days != text.strip() else units.parse_duration_ns(text)
    except (UsageError, ValueError) as e:
        raise UsageError("cannot list runs since", repr(text), "", "for example 2026-11-20, 7d or 12h") from e
    return now_unix_ns - ago


def named_runs(ids: Sequence[str], store_url: str | None) -> tuple[RunHead, ...]:
    """The heads of these runs, each once. Raises `UsageError` for one that is not there."""
    with opened(store_url) as store:
        return tuple({run.id: RunHead.of(run) for run in map(store.load_run, ids)}.values())


def label_run(run_id: str, label: Label, store_url: str | None) -> Run:
    """Gives a run another name and note. Raises `UsageError` where it is not there, `RunFailed` for one that a process
    is measuring now."""
    with opened(store_url) as store:
        run = store.load_run(run_id)
        with held(run.id):
            labelled = store.load_run(run.id).model_copy(update={"label": label})
            store.update_run(labelled)
    return labelled


def delete_runs(ids: Sequence[str], store_url: str | None) -> None:
    """Takes runs out of the store, all or none. Raises `UsageError` for what a baseline stands on, `RunFailed` for one
    that a process is measuring now."""
    with opened(store_url) as store, ExitStack() as mine:
        for run in ids:
            mine.enter_context(held(run))
        store.delete_runs(ids)


def report_of(results: tuple[CellResult, ...], run: Run, analysis: Analysis, diagnosis: Diagnosis) -> Report:
    """What is said of a run: itself, its cells, and the commands that repeat it."""
    return Report(
        run=run,
        results=results,
        analysis=analysis,
        diagnosis=diagnosis,
        repeat=repeat_commands(run),
    )


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
        remarks.append(
            f"{bound} cells reach at least four fifths of what the load generator reaches alone: it may limit them"
        )
    moved = sum(c.moved for c in cells)
    if moved:
        remarks.append(f"{moved} cells changed between visits; they are not smoothed")
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


def scale_result(run: Run, results: tuple[CellResult, ...], what_if: tuple[str, ...] | None = None) -> ScaleResult:
    """The sweep of a run as it stands in the store, worked out again. ``what_if`` in place of what was asked then."""
    from strata.analyse.scaling.result import result_of

    ask, env = run.plan.scale, run.environment
    assert ask is not None, "not a sweep"
    if what_if is not None:
        ask = ask.model_copy(update={"what_if": what_if})
    failed = {f"{r.layer}, {r.workload_key}: {r.error}": None for r in results if r.error}
    return result_of(run.plan, ask, results, run.generator).model_copy(
        update={
            "run": run.id,
            "where": " + ".join(ask.targets or (layer.endpoint for layer in run.plan.stack.layers)),
            "ended": run.scale_end or run.status.value,
            "remarks": (*([run.message] if run.message else []), *failed),
            "created_unix_ns": run.created_unix_ns,
            "repeat": env.called_again,
            "environment": {
                "hostname": env.hostname, "engine": env.engine.get("name"), "build": env.build,
                "strata": env.strata_version, "kernel": env.kernel,
            },
        }
    )  # fmt: skip


PORT = SCHEMES["nbd"].port or 0
"""NBD's registered port; the run itself used a free one."""


def repeat_commands(run: Run) -> tuple[tuple[str, str], ...]:
    """(what it repeats, the command), in the order in which they have to be typed.

    fio's and diskspd's are for one round of a cell, where they have words for it. They need the test file to be there,
    and the servers that Strata had started.
    """
    from strata.formats.diskspd import diskspd_line
    from strata.formats.fio import fio_command

    lines: list[tuple[str, str]] = []
    if run.environment.called_again:
        lines.append(("this run", run.environment.called_again))
    if run.data is None:
        return tuple(lines)
    keep = ["measure", f"file:{run.data.path}", "--size", str(run.data.size), "--keep", "--runtime", "1s"]
    lines.append(("the test file, kept", shlex.join(["strata", *keep])))
    endpoints: dict[str, Endpoint] = {}
    for number, layer in enumerate(run.plan.stack.layers):
        export = own_export(layer.endpoint)
        if export is None:
            endpoints[layer.name] = run.plan.stack.endpoint_of(layer)
            continue
        address = f"127.0.0.1:{PORT + number}"
        there = run.plan.stack.endpoint_of(layer)
        words = [
            *entering(there),
            "strata",
            "target",
            "--file",
            run.data.path,
            "--writable",
            "--listen",
            address,
            "--export",
            export,
        ]
        lines.append((f"the server of {layer.name!r}, in its own terminal", shlex.join(words)))
        uri = layer.endpoint.replace(OWN_SERVER, f"{address}/")
        endpoints[layer.name] = Endpoint.parse(uri).model_copy(update={"netns": there.netns})
    for cell in run.plan.cells:
        segments = run.data.segments.get(cell.layer, ())
        if cell.skip is None and segments:
            times = run.plan.ramp_s, run.plan.runtime_s
            asked = endpoints[cell.layer], cell.workload, segments, *times
            for tool, command in (("fio", fio_command(*asked)), ("diskspd", diskspd_line(*asked))):
                if command is not None:
                    lines.append((f"{cell.layer} · {cell.workload.label} · {tool}", command))
    return tuple(lines)
