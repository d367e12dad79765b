"""``strata watch``: what limits the load that is there, without adding any."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strata.cli import common, tables
from strata.errors import Exit, UsageError
from strata.text.output import note, out

if TYPE_CHECKING:
    from strata.model.watch import WatchResult

LONGEST_S = 24 * 3600


def watch(
    context: typer.Context,
    where: Annotated[
        str | None, typer.Argument(help="A path, a block device or a stack file (.toml) on which the load runs.")
    ] = None,
    command: Annotated[
        list[str] | None, typer.Argument(help="After --: the application's command; it is watched from start to end.")
    ] = None,
    for_: Annotated[
        str | None, typer.Option("--for", help="Time to watch (default 30s, or until the command ends).")
    ] = None,
    trace: Annotated[
        bool,
        typer.Option(
            help="Also trace the block devices briefly, which needs root; writing an event costs 0.2 µs of CPU time."
        ),
    ] = True,
    write_profile: Annotated[
        Path | None, typer.Option(help="Save the observed workload in this .toml file, for use with --profile.")
    ] = None,
    then_confirm: Annotated[
        bool,
        typer.Option(
            "--then-confirm",
            help="Afterwards diagnose with the observed workload, on a test file that Strata creates.",
        ),
    ] = False,
    every: Annotated[
        str | None,
        typer.Option(
            help="Watch until stopped, print a verdict at this interval, e.g. 10s, and keep the last 24 hours of them."
        ),
    ] = None,
    around: Annotated[
        str | None, typer.Option(help="Show what --every kept around this time, e.g. 14:05 or 2026-11-25T14:05.")
    ] = None,
    within: Annotated[
        str | None, typer.Option(help="With --around: time shown before and after it (default 5m).")
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(help="Sample each layer of a stack file on its node of this scheduler, e.g. tls://host:8786."),
    ] = None,
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> int:
    """Watch an application's own load and name what limits it. Issues no I/O to the storage."""
    if where is None:
        raise UsageError("nothing to watch", "", "no path is given", "strata watch /mnt/volume --for 60s")
    tables.WATCH.check(context, tables.EVERY if every else tables.AROUND if around else tables.WATCHED)
    seconds = common.seconds(for_)
    if seconds is not None and not 0 < seconds <= LONGEST_S:
        raise UsageError("cannot watch for", for_ or "", "--for must be above 0 and at most 1 day")
    if every is not None:
        return _every(where, common.seconds(every) or 0.0, seconds, nodes, json)
    if around is not None:
        return _around(where, around, common.seconds(within), json)
    from strata.app import watch as use_case

    asked = use_case.Watching(
        where=where, seconds=seconds, command=tuple(command or ()), trace=trace, profile=write_profile,
        confirm=then_confirm, store=store, nodes=nodes,
    )  # fmt: skip
    with common.display("auto" if then_confirm else "none") as emit:
        return _told(use_case.watch(asked, emit), json)


def _told(result: WatchResult, json: bool) -> int:
    from strata.model.finding import VerdictKind
    from strata.report.watch_text import watch_text

    common.show(result, watch_text, json)
    if result.ran is not None and result.ran.status:
        note(f"the command ended with {result.ran.status}")
        return Exit.FAILED
    proof = result.confirm
    last = result.verdict if proof is None or proof.verdict is None else proof.verdict
    return Exit.INCONCLUSIVE if last.kind is VerdictKind.INCONCLUSIVE else Exit.FINE


def _every(where: str, every_s: float, seconds: float | None, nodes: str | None, json: bool) -> int:
    """A line for each slice, or with --json a document in one line (JSON Lines)."""
    from strata.app.watch_every import watch_on
    from strata.model.watch import Slice
    from strata.report.watch_text import slice_lines

    def told(one: Slice) -> None:
        out(one.model_dump_json(exclude_none=True) if json else "\n".join(slice_lines(one, common.width())), json)

    watch_on(where, every_s, told, seconds, nodes)
    return Exit.FINE


def _around(where: str, around: str, within_s: float | None, json: bool) -> int:
    from strata.app.watch_every import AROUND_S, look_back
    from strata.report.watch_text import look_back_text

    common.show(look_back(where, around, AROUND_S if within_s is None else within_s), look_back_text, json)
    return Exit.FINE
