"""``strata verify``: does the storage keep what it acknowledges?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from strata import units
from strata.cli import common, completing, tables
from strata.errors import Exit, UsageError
from strata.text.door import note, out

if TYPE_CHECKING:
    from strata.model.verify import VerifyResult


def verify(
    context: typer.Context,
    where: Annotated[
        str | None,
        typer.Argument(
            help="An endpoint: file:/..., block:/dev/..., nbd://...; default: the journal's.",
            autocompletion=completing.endpoints,
        ),
    ] = None,
    size: Annotated[str | None, typer.Option(help="How much of it, e.g. 1g; of a new file: its size (256m).")] = None,
    bs: Annotated[str, typer.Option(help="Block size: what one I/O writes, e.g. 4k.")] = "4k",
    sector: Annotated[str | None, typer.Option(help="What is stamped by itself; 512 bytes by default.")] = None,
    iodepth: Annotated[int, typer.Option(help="I/Os kept in flight by each thread.")] = 8,
    numjobs: Annotated[int, typer.Option("--numjobs", "--threads", help="Threads, each with a part of it.")] = 1,
    order: Annotated[str, typer.Option(help="random or sequential.")] = "random",
    passes: Annotated[
        int | None, typer.Option(help="Times that it is written and read back (2; with --runtime: no end).")
    ] = None,
    write_share: Annotated[
        int, typer.Option(help="Percent of the blocks that a pass after the first writes; it reads the others.")
    ] = 100,
    runtime: Annotated[
        str | None, typer.Option(help="No pass writes beyond this time, e.g. 10m; reading back is always finished.")
    ] = None,
    flush_every: Annotated[int, typer.Option(help="Flush after so many writes of a thread; 0: after each pass.")] = 0,
    journal: Annotated[
        Path | None, typer.Option(help="Keep what is written in this new file, so that a cut-off run can be checked.")
    ] = None,
    journal_sync: Annotated[
        bool, typer.Option("--journal-sync", help="The journal survives a power loss of this machine; slower.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Hold what is there against the journal; write nothing.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Check, then go on writing and reading.")] = False,
    power_loss: Annotated[
        bool, typer.Option("--power-loss", help="The target lost power: only what was flushed has to be there.")
    ] = False,
    atomic: Annotated[
        bool, typer.Option("--atomic", help="A block whose write was in flight must not be torn either.")
    ] = False,
    stuck_after: Annotated[str, typer.Option(help="An I/O that takes longer is stuck and ends the run.")] = "30s",
    listed: Annotated[int, typer.Option("--list", help="Faults to list with their place.")] = 20,
    buffered: Annotated[bool, typer.Option("--buffered", help="Through the page cache instead of O_DIRECT.")] = False,
    dsync: Annotated[bool, typer.Option("--dsync", help="Write-through: every write is durable.")] = False,
    seed: common.Seed = 1,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the file in place; a journal implies it.")] = False,
    destructive: Annotated[
        str | None,
        typer.Option(help="Allow writing to a raw device or foreign export: type its name again. Its data is lost."),
    ] = None,
    json: common.JsonFlag = False,
    progress: common.ProgressMode = "auto",
) -> int:
    """Write stamped blocks, read them back, and name what is lost, torn, stale, misdirected, corrupted or foreign.

    With --journal a run that is cut off (kill -9, a dead server, a power loss) can be checked and resumed. Exit code 3
    when a fault was found, 4 when nothing can be said.
    """
    from strata.app.verifying import VerifyOptions, verify_endpoint
    from strata.report.verify_text import verify_text

    if check and resume:
        raise UsageError("cannot verify", "", "--check writes nothing, --resume writes on", "choose one of them")
    tables.VERIFY.check(context, tables.CHECK if check else tables.RESUME if resume else tables.RUN)
    if order not in ("random", "sequential"):
        raise UsageError("cannot use --order", order, "", "choose random or sequential")
    options = VerifyOptions(
        mode="check" if check else "resume" if resume else "run",
        size=None if size is None else units.parse_size(size),
        bs=units.parse_size(bs),
        sector=None if sector is None else units.parse_size(sector),
        iodepth=iodepth,
        threads=numjobs,
        order=cast("Literal['random', 'sequential']", order),
        passes=passes if passes is not None or runtime is not None else 2,
        write_percent=write_share,
        runtime_ns=None if runtime is None else units.parse_duration_ns(runtime),
        flush_every=flush_every,
        journal=None if journal is None else str(journal.absolute()),
        journal_sync=journal_sync,
        power_loss=power_loss,
        atomic=atomic,
        stuck_after_ns=units.parse_duration_ns(stuck_after),
        listed=listed,
        direct=not buffered,
        dsync=dsync,
        seed=seed,
        keep=keep,
        destructive=destructive,
    )
    with common.display(progress) as display:
        verified = verify_endpoint(where, options, display.update)
    out(verified.model_dump_json(indent=2) if json else verify_text(verified, common.width(), common.color()), json)
    return _exit(verified, journal)


def _exit(verified: VerifyResult, journal: Path | None) -> int:
    from strata.model.verify import Integrity

    if verified.stopped_by is not None:
        note("stopped; what was verified until then is above")
    if verified.verdict is Integrity.FAILED or verified.result.stuck:
        note(f"error: cannot verify {verified.endpoint} to its end: {verified.why}")
        if journal is not None and verified.result.mode != "check":
            note(f"hint: strata verify --check --journal {journal} says what is there, once the target is back")
        else:
            note("hint: look at the target, then verify again; with --journal it can be checked afterwards")
    if verified.verdict is not Integrity.FAULTS and verified.stopped_by is not None:
        return Exit.of_signal(verified.stopped_by)
    exits = {Integrity.SOUND: Exit.FINE, Integrity.FAULTS: Exit.GATE, Integrity.FAILED: Exit.FAILED}
    return exits.get(verified.verdict, Exit.INCONCLUSIVE)
