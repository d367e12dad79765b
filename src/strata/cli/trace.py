"""``strata trace``: what reaches a device, in which order, who sends it and how long it takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strata.cli import common, tables
from strata.errors import Exit, UsageError
from strata.text.output import note

if TYPE_CHECKING:
    from strata.model.trace import TraceResult


def trace(
    context: typer.Context,
    where: Annotated[
        str | None,
        typer.Argument(
            help="A block device, a path or a stack file: the devices below it are traced; - traces only connections."
        ),
    ] = None,
    command: Annotated[
        list[str] | None, typer.Argument(help="After --: a command to run; the trace ends with it.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Length of the trace in seconds (default 5, or until the command ends).")
    ] = None,
    max_events: Annotated[
        int, typer.Option(help="Stop after this many events; each takes 48 bytes of memory.")
    ] = 1_000_000,
    save: Annotated[Path | None, typer.Option(help="Save the trace in this new file, for --from.")] = None,
    from_: Annotated[
        Path | None, typer.Option("--from", help="Read a saved trace or blkparse output instead of recording.")
    ] = None,
    waterfall: Annotated[
        bool, typer.Option("--waterfall", help="Also follow each request and show how long it spent in each layer.")
    ] = False,
    server: Annotated[
        Path | None,
        typer.Option(
            help="With --from: a trace saved on the server at the same time; requests are followed into the server."
        ),
    ] = None,
    clock: Annotated[
        str | None,
        typer.Option(
            help="With --server: offset and bound of its clock, as OFFSET/BOUND in ns (positive: ahead); refused if "
            "the traces contradict it."
        ),
    ] = None,
    perfetto: Annotated[
        Path | None,
        typer.Option(
            help="Save sampled requests as Chrome trace JSON in this file, for ui.perfetto.dev; implies --waterfall."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Save the waterfall as a one-file HTML page in this file; implies --waterfall.")
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(help="Trace each layer of a stack file on its node of this scheduler, e.g. tls://host:8786."),
    ] = None,
    json: common.JsonFlag = False,
) -> int:
    """Record the block I/O of a device briefly. Shows service times, depth, order, reordering, splits and threads."""
    if (where is None) == (from_ is None):
        raise UsageError(
            "cannot trace:", "", "give either a device or path, or --from", "for example: strata trace /mnt/volume"
        )
    tables.TRACE.check(context, tables.SAVED if from_ is not None else tables.LIVE)
    if from_ is not None:
        return _saved(from_, waterfall, server, clock, perfetto, html, json)
    from strata.app.outputs import check_output
    from strata.app.trace import trace as record

    for path in (perfetto, html):
        if path is not None:
            check_output(path)
    result = record(
        where or ".",
        seconds=seconds,
        max_events=max_events,
        save=save,
        command=command or (),
        waterfall=waterfall or perfetto is not None or html is not None,
        nodes=nodes,
    )
    _write(result, perfetto, html)
    return _show(result, json)


def _saved(
    path: Path,
    waterfall: bool,
    server: Path | None,
    clock: str | None,
    perfetto: Path | None,
    html: Path | None,
    json: bool,
) -> int:
    from strata.app.outputs import check_output
    from strata.app.trace import read

    if clock is not None and server is None:
        raise UsageError("cannot use", "--clock", "it is about the machine of --server", "give that, too")
    for output in (perfetto, html):
        if output is not None:
            check_output(output)
    wanted = waterfall or perfetto is not None or html is not None or server is not None
    result = read(path, waterfall=wanted, server=server, clock=None if clock is None else _clock(clock))
    _write(result, perfetto, html)
    return _show(result, json)


def _clock(text: str) -> tuple[int, int]:
    offset, slash, bound = text.partition("/")
    digits = offset.removeprefix("-").isdecimal() and bound.isdecimal()
    if not slash or not digits or max(len(offset), len(bound)) > 18:
        why = "it is no OFFSET/BOUND, two whole numbers of ns"
        raise UsageError(
            "cannot read the clock", text, why, "for example --clock=1500000/40000; strata node list tells both"
        )
    return int(offset), int(bound)


def _write(result: TraceResult, perfetto: Path | None, html: Path | None) -> None:
    from strata.app.outputs import Seal, write_output

    if perfetto is not None:
        from strata.report.perfetto import perfetto_json

        write_output(perfetto, perfetto_json(result), Seal.BESIDE)
    if html is not None:
        from strata.report.html import trace as page

        write_output(html, page.render(result))


def _show(result: TraceResult, json: bool) -> int:
    from strata.report.trace_text import trace_text

    common.show(result, trace_text, json)
    for one in result.notes if json else ():
        note(f"note: {one}")
    if result.command_status:
        note(f"the command ended with {result.command_status}")
        return Exit.FAILED
    return Exit.FINE
