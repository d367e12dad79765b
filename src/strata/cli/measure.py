"""``strata measure``: one workload against one endpoint, or the rest of an interrupted run."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strata import units
from strata.cli import common, completion, matrix, tables, usages
from strata.cli.bundles import (
    Cells,
    Filed,
    Kept,
    Layered,
    Output,
    Several,
    TimedFinely,
    Until,
    WorkloadWords,
    options,
)  # fmt: skip
from strata.errors import Exit, UsageError
from strata.schemes import BRIEFLY
from strata.text.output import note

if TYPE_CHECKING:
    from strata.app.clients import Engine
    from strata.app.measure import OneResult
    from strata.model.course import Aim
    from strata.model.run import Run


def measure(
    context: typer.Context,
    words: WorkloadWords,
    several: Several,
    cells: Cells,
    until: Until,
    timed: TimedFinely,
    placed: Filed,
    layered: Layered,
    output: Output,
    kept: Kept,
    where: Annotated[
        str | None,
        typer.Argument(
            help=f"An endpoint ({BRIEFLY}), a directory, or a stack file.",
            autocompletion=completion.endpoints,
        ),
    ] = None,
    destructive: common.Destructive = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run: WHERE is its id (default: the newest).")
    ] = False,
    trace: common.Trace = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show each thread (one endpoint only).")] = False,
) -> int:
    """Measure one endpoint, or every layer of a stack. WHERE is an endpoint, a directory or a stack file; layers
    are measured in interleaved rounds.

    A directory is measured with the same workloads as `diagnose`, or with the one that --rw gives, and compared and
    stored without experiments. With --resume: measure the missing cells of an interrupted run.
    """
    from strata.app.measure import dealt, measure_endpoint, timing_of, workload_from_words
    from strata.app.where import is_endpoint, understood

    output.check()
    if resume:
        return _resume(context, where, output, destructive, several.nodes)
    if where is None:
        raise UsageError(
            "nothing to measure",
            "",
            "",
            "strata measure file:/mnt/new.dat, strata measure /mnt/volume, or strata measure stack.toml",
        )
    where, *others = (understood(word) for word in (where, *(several.target or ())))
    uris = (where, *others)
    common.check_targets(uris)
    tables.MEASURE.check(context, tables.place_of(where, several=len(uris) > 1), _cells(context, where, cells))
    if cells.matrix is not None:
        from strata.app.matrix import measure_matrix
        from strata.app.matrix_plan import words_of

        asked = words_of(
            cells.matrix, cells.budget, until.until, timed.ramp, buffered=words.buffered,
            sync="dsync" if words.dsync else words.sync, destructive=destructive, clients=words.given["clients"],
        )  # fmt: skip
        chosen = options(placed, timed, layered, rounds=1, store=output.store, label=kept.label)
        return matrix.measured(output, partial(measure_matrix, where, asked, chosen, nodes=several.nodes))
    shares = several.weights(len(uris))
    given = {name: value for name, value in words.given.items() if name != "rw" or value}
    workload = workload_from_words(**given, seed=placed.seed, shares=shares, deal=several.deal)
    listed = common.jobs(cells.job)
    if not is_endpoint(where):
        # Here: one endpoint issues its first I/O a tenth of a second earlier without it.
        from strata.app.diagnose import diagnose_path

        chosen = options(
            placed, timed, layered, store=output.store, confirm=False, label=kept.label, trace=trace,
            only=(workload,) if words.rw is not None else listed, nodes=several.nodes,
        )  # fmt: skip
        output.measured(partial(diagnose_path, Path(where), chosen))
        return Exit.FINE
    from strata.app.until import aim_of
    from strata.model.placement import parse_placement

    if listed:
        if len(listed) > 1:
            keys = ", ".join(w.key for w in listed)
            raise UsageError(
                "one endpoint takes one workload:", keys, "", "give a directory, or a job file with one section"
            )
        workload = dealt(listed[0], shares, several.deal)
    aim = aim_of(until.until, until.until_percentile, until.until_min, timed.runtime, until.until_bytes)
    timing = timing_of(timed.ramp or None, timed.runtime or None, timed.interval or None, aim)
    with ExitStack() as held:
        engine: str | Engine = placed.engine
        if several.nodes is not None:
            from strata.app.clients import engine_of_nodes

            engine = held.enter_context(engine_of_nodes(several.nodes, placed.engine))
        emit = held.enter_context(common.display(output.progress))
        result = measure_endpoint(
            uris,
            workload,
            timing,
            size=common.size(placed.size),
            keep=placed.keep,
            destructive=destructive,
            placement=parse_placement(placed.cpus, placed.numa_node) if placed.cpus or placed.numa_node else None,
            precondition=(common.seconds(timed.precondition), common.size(timed.precondition_bytes)),
            emit=emit,
            engine=engine,
            aim=aim,
            trace=trace,
            store=output.store,
            label=kept.label,
        )
    return _shown(result, aim, output, verbose=verbose)


def _publish(result: OneResult, aim: Aim | None, *, verbose: bool, json: bool) -> int:
    """On the terminal; the exit code."""
    # Here: what it loads would delay the first I/O.
    from strata.app.going_on import resumes
    from strata.report.measure_text import measure_text

    def text(r: OneResult, width: int, color: bool) -> str:
        return measure_text(r.summary, r.endpoint, width, color, r.checks, r.result, verbose, r.course)

    common.show(result, text, json)
    if result.run is not None and not json:
        note(f"stored; show it again: strata report {result.run}")
    if result.precondition is not None:
        from strata.app.precondition import said_of

        note(f"preconditioning: {said_of(result.precondition)}")
    if result.moved is not None:
        note(result.moved)
    if result.unkept is not None:
        note(f"not stored: {result.unkept}")
    again = result.run is not None and result.report is not None and resumes(result.report.run)
    if result.stopped_by is not None:
        note(f"{result.trouble or 'stopped'}; the results so far are above")
        if again:
            note(f"hint: to measure it again: strata measure --resume {result.run}")
        return Exit.of_signal(result.stopped_by)
    if result.trouble is not None:
        note(f"error: {result.endpoint} {result.trouble}")
        more = f"; once the clients are back: strata measure --resume {result.run}" if again else ""
        note(f"hint: the results so far are above{more}")
        return Exit.FAILED
    if aim is not None and not (result.course and result.course.reached):
        note(f"the interval of the mean did not reach ±{units.percent(aim.mean, 2)}; the result shows how wide it is")
        return Exit.INCONCLUSIVE
    return Exit.FINE


def _cells(context: typer.Context, where: str, cells: Cells) -> str:
    """Where the cells come from, as the table of the command calls it."""
    if cells.matrix is not None:
        return tables.MATRIX
    if cells.job is not None:
        return tables.JOB
    from strata.app.where import is_endpoint

    return tables.WORDS if is_endpoint(where) or "rw" in usages.typed(context) else tables.USUAL


def _resume(
    context: typer.Context, run_id: str | None, output: Output, destructive: str | None, nodes: str | None
) -> int:
    from strata.app.diagnose import resume as resume_run
    from strata.app.diagnose import unfinished
    from strata.app.going_on import of_one_endpoint
    from strata.app.options import Options

    tables.MEASURE.check(context, tables.RESUME, tables.MATRIX)
    run = unfinished(run_id, output.store)
    if of_one_endpoint(run):
        return _resume_one(run, output, destructive, nodes)
    if run.plan.scale is not None:
        raise UsageError("cannot resume", run.id, "it is a sweep", f"strata scale --resume {run.id}")
    tables.MEASURE.check(context, tables.RESUME, tables.LAYERS if run.plan.matrix is None else tables.MATRIX)
    chosen = Options(store=output.store)
    if run.plan.matrix is not None:
        from strata.app.matrix import resume_matrix

        return matrix.measured(output, lambda emit: resume_matrix(run, chosen, emit, destructive, nodes))
    output.measured(partial(resume_run, run.id, chosen))
    return Exit.FINE


def _resume_one(run: Run, output: Output, destructive: str | None, nodes: str | None) -> int:
    """One endpoint: what its clients kept is fetched, else it is measured again."""
    from strata.app.clients import engine_of_nodes
    from strata.app.measure_begun import resume_endpoint

    before = run.environment.engine.get("scheduler")
    if nodes is not None and before is None:
        raise UsageError("cannot resume on nodes:", run.id, "it was measured on this machine", "leave --nodes out")
    with ExitStack() as held:
        engine = None
        if before is not None:
            engine = held.enter_context(engine_of_nodes(nodes or before, run.environment.engine["name"]))
        emit = held.enter_context(common.display(output.progress))
        result = resume_endpoint(run, emit, engine=engine, store=output.store, destructive=destructive)
    return _shown(result, None, output, verbose=False)


def _shown(result: OneResult, aim: Aim | None, output: Output, *, verbose: bool) -> int:
    """Written where it was asked, and on the terminal; the exit code."""
    if result.report is not None:
        output.write(result.report)
    code = _publish(result, aim, verbose=verbose, json=output.json)
    output.said_where()
    return code
