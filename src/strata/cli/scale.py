"""``strata scale``: how far a rate follows its load, and what to add next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strata.cli import common, completion, lab_door, tables
from strata.cli.bundle import Bundle
from strata.cli.bundles import Filed, Kept, Output, Pages, WorkloadWords, within_bounds
from strata.errors import Exit, UsageError
from strata.model.axis import Axis, Made
from strata.model.workload_options import one_of
from strata.schemes import BRIEFLY

if TYPE_CHECKING:
    from strata.app.clients import Engine
    from strata.app.options import Options
    from strata.app.scale_points import Maker
    from strata.model.elastic import ElasticRun
    from strata.model.scale import ScaleResult


_AXES = one_of(f"{axis} (numjobs)" if axis is Axis.THREADS else axis for axis in Axis)


class Swept(Bundle):
    """What grows, for how long, and what is asked of the curve."""

    over: Annotated[str, typer.Option(help=f"Axis to sweep: {_AXES}.")] = Axis.IODEPTH.value
    points: Annotated[
        str | None,
        typer.Option(help="Values to start with, e.g. 1,2,4,8 (default: powers of two); more are added at the knee."),
    ] = None
    budget: Annotated[str | None, typer.Option(help="Time for the whole sweep (default 1m).")] = None
    until: Annotated[
        str | None,
        typer.Option(help="Measure each point until the 95 % interval of its mean has this half-width (default 2%)."),
    ] = None
    worth: Annotated[str | None, typer.Option(help="Smallest gain that makes a doubling worthwhile (default 20%).")] = (
        None
    )
    open_loop: Annotated[
        bool, typer.Option("--open-loop/--no-open-loop", help="Add fixed arrival rates below, at and above the limit.")
    ] = True
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            help="Predict a change: NAME=VALUE[@N], e.g. iodepth=256, limit=2x or delay=500us@4 (where the axis is 4); "
            "repeatable."
        ),
    ] = None


class PointsMade(Bundle):
    """What makes a point that is no option of the workload."""

    target: common.Targets = None
    nodes: Annotated[
        str | None,
        typer.Option(
            help="Scheduler of the nodes that run the clients, or that drive the layers of a stack file, "
            "e.g. tls://host:8786."
        ),
    ] = None
    make: Annotated[
        str | None,
        typer.Option(
            help="With --over queues, controllers or storage-nodes: command that sets the number; {} stands for it. "
            "Runs without a shell. Not needed for a stack of the lab."
        ),
    ] = None
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="Time your own command instead of an I/O workload, at the smaller and the larger value: "
            "NAME=COMMAND, where {} stands for the value; repeatable."
        ),
    ] = None
    now: Annotated[int | None, typer.Option(help="With --make: the current number; --make restores it at the end.")] = (
        None
    )


class UnderLoad(Bundle):
    """What is asked of a load that runs while the number changes."""

    under_load: Annotated[
        bool,
        typer.Option(
            "--under-load",
            help="Change the number while one load runs, to each value and back: show dip, recovery, new rate, and "
            "whether data was lost.",
        ),
    ] = False
    layer: Annotated[
        str | None, typer.Option(help="With --under-load: layer of the stack file to load (default: the last).")
    ] = None
    verify: Annotated[
        str | None,
        typer.Option(
            help="With --under-load: another endpoint on the same storage, which strata verify writes and reads "
            "meanwhile (default: none; in the lab one of its own).",
            autocompletion=completion.endpoints,
        ),
    ] = None
    spread: Annotated[
        str | None,
        typer.Option(
            help="With --under-load: command that prints where the data is, one NAME SIZE a line. Runs without a "
            "shell. Not needed for a stack of the lab."
        ),
    ] = None


class ReadPoints(Bundle):
    """Where the points come from if nothing is measured."""

    table: Annotated[
        Path | None, typer.Option(help="Read the points from a table (CSV, TSV); nothing is measured.")
    ] = None
    column: common.Columns = None
    run: Annotated[
        str | None,
        typer.Option(help="Read the points from this run; nothing is measured.", autocompletion=completion.runs),
    ] = None


def scale(
    context: typer.Context,
    words: WorkloadWords,
    placed: Filed,
    output: Output,
    kept: Kept,
    swept: Swept,
    made: PointsMade,
    loaded: UnderLoad,
    read: ReadPoints,
    where: Annotated[
        str | None,
        typer.Argument(
            help=f"An endpoint ({BRIEFLY}), a directory, or a stack file.", autocompletion=completion.endpoints
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run: WHERE is its id (default: the newest).")
    ] = False,
    destructive: common.Destructive = None,
) -> int:
    """Sweep one axis until the rate stops following the load. Shows the limit, the knee, the saturated resource, and
    what a change gains.

    Points are interleaved in rounds, and added where the curve bends. Every point is stored and can be resumed.
    """
    output.check()
    way = tables.way_of(
        table=read.table is not None, run=read.run is not None, resume=resume, task=made.task is not None,
        under_load=loaded.under_load,
    )  # fmt: skip
    tables.SCALE.check(context, way)
    asked = tuple(swept.what_if or ())
    if read.table is not None:
        from strata.app.scale_plan import gain_of
        from strata.app.scale_table import scale_table

        publish(scale_table(read.table, common.columns(read.column), asked, gain_of(swept.worth)), output)
        return Exit.FINE
    if read.run is not None:
        from strata.app.scale import scale_again

        publish(scale_again(read.run, output.store, asked), output)
        return Exit.FINE
    if resume:
        return _resume(where, made, output, destructive)
    if made.task is not None:
        return _tasks(where, swept, made, output)
    if where is None:
        raise UsageError("nothing to scale", "", "", "strata scale file:/mnt/new.dat --over iodepth")
    if loaded.under_load:
        return _under_load(where, words, placed, swept, made, loaded, output, destructive)
    from strata.app.measure import workload_from_words
    from strata.app.scale import by_nodes, measure_scale
    from strata.app.scale_plan import ask_of, axis_of
    from strata.app.where import understood

    uris = [understood(word) for word in (where, *(made.target or ()))]
    common.check_targets(uris)
    axis = axis_of(swept.over)
    by, most = _maker(axis, uris[0], made)
    driven = by_nodes(uris[0], axis, made.nodes)
    given = {name: value for name, value in words.given.items() if name != "rw" or value}
    base = workload_from_words(**given, seed=placed.seed)
    options = _options(placed, kept, output, made.nodes if driven else None)
    with _engine(None if driven else made.nodes, placed.engine) as engine:
        joined = None if engine is None else engine.identity()["nodes"]
        there = {Made.TARGETS: len(uris), Made.NODES: joined, Made.COMMAND: most}.get(axis.made)
        ask = ask_of(
            swept.over, swept.points, swept.budget, swept.until, swept.worth, open_loop=swept.open_loop, what_if=asked,
            size=common.size(placed.size), there=there, make="" if by is None else by.command, driven=driven,
        )  # fmt: skip
        with common.display(output.progress) as emit:
            result = measure_scale(uris, ask, base, options, emit, destructive, maker=by, engine=engine)
    publish(result, output)
    return Exit.FINE


def _tasks(where: str | None, swept: Swept, made: PointsMade, output: Output) -> int:
    from strata.app.scale_plan import ask_of, axis_of
    from strata.app.scale_tasks import Task, measure_tasks

    tasks = [Task.parse(text) for text in made.task or ()]
    by, most = _maker(axis_of(swept.over), where or "", made)
    ask = ask_of(
        swept.over, swept.points, swept.budget, swept.until, None, open_loop=False, what_if=(), size=None, there=most,
        make="" if by is None else by.command,
    )  # fmt: skip
    with common.display(output.progress) as emit:
        result = measure_tasks(ask, tasks, emit, maker=by)
    publish(result, output)
    return Exit.FINE


def _under_load(
    where: str, words: WorkloadWords, placed: Filed, swept: Swept, made: PointsMade, loaded: UnderLoad, output: Output,
    destructive: str | None,
) -> int:  # fmt: skip
    from strata.app.measure import workload_from_words
    from strata.app.scale_elastic import LoadWords, check_axis, measure_elastic
    from strata.app.scale_plan import ask_of, axis_of
    from strata.app.scale_points import Maker
    from strata.app.where import understood

    # What no workload can be is refused before anything runs.
    workload_from_words(**{name: value for name, value in words.given.items() if name != "rw" or value})
    axis = axis_of(swept.over)
    check_axis(axis)
    own = lab_door.resizing(where, axis.value) if made.make is None else None
    by, most = (Maker(axis, own.as_is, own.now), own.most) if own is not None else _maker(axis, where, made)
    points = swept.points or (None if by is None else str(by.now + 1))
    ask = ask_of(
        swept.over, points, swept.budget, None, None, open_loop=False, what_if=(), size=None, there=most,
        make="" if by is None else by.command,
    )  # fmt: skip
    spare = None if own is None or loaded.verify is not None else own.spare
    load = LoadWords(
        words=words.line + (() if placed.size is None else ("--size", placed.size)), layer=loaded.layer,
        verify=loaded.verify or spare, spread=loaded.spread or (None if own is None else own.spread),
        # What the lab made is its own.
        destructive=tuple(d for d in (destructive, spare) if d is not None),
    )  # fmt: skip
    with common.display(output.progress) as emit:
        result = measure_elastic(understood(where), ask, load, emit, maker=by)
    from strata.report.elastic_text import elastic_text

    common.show(result, elastic_text, output.json)
    return _exit(result)


def _exit(result: ElasticRun) -> int:
    from strata.model.verify import Integrity

    verdict = Integrity.SOUND if result.verified is None else result.verified.verdict
    if verdict is Integrity.FAULTS:
        return Exit.GATE
    told = verdict is Integrity.SOUND and not any(one.refused for one in result.changes)
    return Exit.FINE if told else Exit.INCONCLUSIVE


def _maker(axis: Axis, where: str, made: PointsMade) -> tuple[Maker | None, int | None]:
    """What makes the points of the axis, and how many it can make: the user's command, or the lab where it is its
    stack."""
    from strata.app.scale_points import Maker

    if made.make is not None:
        if made.now is None:
            why, hint = "what it changed could not be put back", "--now N: how many there are now"
            raise UsageError("cannot use --make without", "--now", why, hint)
        return Maker(axis, made.make, made.now), None
    own = lab_door.resizing(where, axis.value) if axis.commanded else None
    return (None, None) if own is None else (Maker(axis, own.command, own.now), own.most)


@contextmanager
def _engine(nodes: str | None, name: str) -> Iterator[Engine | None]:
    if nodes is None:
        yield None
        return
    from strata.app.clients import engine_of_nodes

    with engine_of_nodes(nodes, name) as engine:
        yield engine


def _options(placed: Filed, kept: Kept, output: Output, nodes: str | None) -> Options:
    from strata.model.placement import parse_placement

    pinned = placed.cpus or placed.numa_node
    return within_bounds(
        {
            "size": common.size(placed.size),
            "keep": placed.keep,
            "seed": placed.seed,
            "engine": placed.engine,
            "store": output.store,
            "label": kept.label,
            "placement": parse_placement(placed.cpus, placed.numa_node) if pinned else None,
            "nodes": nodes,
        }
    )


def _resume(run_id: str | None, made: PointsMade, output: Output, destructive: str | None) -> int:
    from strata.app.diagnose import unfinished
    from strata.app.options import Options
    from strata.app.scale import resume_scale

    found = unfinished(run_id, output.store)
    if found.plan.scale is None:
        raise UsageError("cannot resume", found.id, "it is no sweep", f"strata measure --resume {found.id}")
    by, _ = _maker(found.plan.scale.axis, "", made)
    nodes, driven = made.nodes, found.plan.stack.scheduler is not None
    options = Options(store=output.store, nodes=nodes if driven else None)
    clients_on = None if driven else nodes or found.environment.engine.get("scheduler")
    with _engine(clients_on, found.environment.engine["name"]) as engine, common.display(output.progress) as emit:
        result = resume_scale(found, options, emit, destructive, maker=by, engine=engine)
    publish(result, output)
    return Exit.FINE


def publish(result: ScaleResult, output: Pages) -> None:
    """Print it and write what was asked."""
    from strata.app.outputs import write_output
    from strata.report.scale_text import scale_markdown, scale_text

    if output.html is not None:
        from strata.report.html import scale as page

        write_output(output.html, page.render(result))
    if output.markdown is not None:
        write_output(output.markdown, scale_markdown(result))
    output.write_cells(result)
    common.show(result, scale_text, output.json)
    output.said_where()
