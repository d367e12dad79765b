"""``strata verify``: does the storage keep what it acknowledges?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast, get_args

import typer

from strata import units
from strata.cli import common, completion, tables
from strata.cli.bundle import Bundle
from strata.errors import Exit, UsageError
from strata.model import verify_defaults as usual
from strata.model.workload_options import NEW_FILE_BYTES, OPTIONS, one_of
from strata.text.output import note

if TYPE_CHECKING:
    from strata.model.verify import VerifyResult


class Written(Bundle):
    """What is written, and how often."""

    size: Annotated[
        str | None,
        typer.Option(
            help="Amount of data to verify, e.g. 1g; for a new file also its size (default "
            f"{units.exact_size(NEW_FILE_BYTES)})."
        ),
    ] = None
    bs: Annotated[str, typer.Option(help=OPTIONS["bs"].help)] = usual.BS
    sector: Annotated[
        str | None, typer.Option(help=f"Unit that carries one stamp (default {usual.SECTOR_BYTES} bytes).")
    ] = None
    iodepth: Annotated[int, typer.Option(help="I/Os in flight per thread.")] = usual.IODEPTH
    numjobs: Annotated[
        int, typer.Option("--numjobs", "--threads", help="Number of threads; each verifies its own part.")
    ] = usual.THREADS
    order: Annotated[str, typer.Option(help=f"Order of the blocks: {one_of(get_args(usual.Order))}.")] = usual.ORDER
    passes: Annotated[
        int | None,
        typer.Option(
            help=f"Number of passes; each writes and reads back (default {usual.PASSES}; with --runtime unlimited)."
        ),
    ] = None
    write_share: Annotated[
        int, typer.Option(help="Percentage of the blocks written by each pass after the first; it reads the others.")
    ] = usual.WRITE_PERCENT
    runtime: Annotated[
        str | None, typer.Option(help="Stop writing after this time, e.g. 10m; reading back always completes.")
    ] = None
    flush_every: Annotated[int, typer.Option(help="Flush after this many writes of a thread; 0: after each pass.")] = (
        usual.FLUSH_EVERY
    )
    buffered: common.Buffered = not usual.DIRECT
    dsync: Annotated[bool, typer.Option("--dsync", help=OPTIONS["dsync"].help)] = usual.DSYNC
    seed: common.Seed = usual.SEED


class Journalled(Bundle):
    """What outlives the run, and what is compared with it."""

    journal: Annotated[
        Path | None, typer.Option(help="Record all writes in this new file, so that an interrupted run can be checked.")
    ] = None
    journal_sync: Annotated[
        bool,
        typer.Option(
            "--journal-sync", help="Make the journal survive a power loss of this machine; slows down writes."
        ),
    ] = False
    check: Annotated[
        bool, typer.Option("--check", help="Check the existing data against the journal; write nothing.")
    ] = False
    resume: Annotated[bool, typer.Option("--resume", help="Check, then continue writing and reading.")] = False
    power_loss: Annotated[
        bool, typer.Option("--power-loss", help="The target lost power: require only flushed data to be present.")
    ] = False
    atomic: Annotated[
        bool, typer.Option("--atomic", help="Require in-flight writes to be atomic: a torn block is always a fault.")
    ] = False


def verify(
    context: typer.Context,
    written: Written,
    kept: Journalled,
    where: Annotated[
        str | None,
        typer.Argument(
            help="An endpoint: file:/..., block:/dev/..., nbd://... (default: the one in the journal).",
            autocompletion=completion.endpoints,
        ),
    ] = None,
    stuck_after: Annotated[
        str, typer.Option(help="End the run if an I/O takes longer than this.")
    ] = f"{usual.STUCK_AFTER_NS // units.NS_PER_S}s",
    listed: Annotated[int, typer.Option("--list", help="Number of faults to list with their location.")] = usual.LISTED,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the file after the run; --journal implies it.")] = False,
    destructive: common.Destructive = None,
    json: common.JsonFlag = False,
    progress: common.ProgressMode = "auto",
) -> int:
    """Write stamped blocks, read them back, and name the faults. Finds lost, torn, stale, misdirected, corrupted and
    foreign blocks.

    With --journal, an interrupted run (kill -9, a dead server, a power loss) can be checked and resumed. Exit code 3
    if a fault was found, 4 if the result is inconclusive.
    """
    from strata.app.verify import VerifyOptions, verify_endpoint
    from strata.report.verify_text import verify_text

    if kept.check and kept.resume:
        raise UsageError(
            "cannot use together:",
            "--check and --resume",
            "--check writes nothing, --resume continues writing",
            "leave one out",
        )
    mode: Literal["check", "resume", "run"] = "check" if kept.check else "resume" if kept.resume else "run"
    tables.VERIFY.check(context, {"check": tables.CHECK, "resume": tables.RESUME, "run": tables.RUN}[mode])
    if written.order not in get_args(usual.Order):
        raise UsageError("cannot use --order", written.order, "", f"choose {one_of(get_args(usual.Order))}")
    options = VerifyOptions(
        mode=mode,
        size=common.size(written.size),
        bs=units.parse_size(written.bs),
        sector=common.size(written.sector),
        iodepth=written.iodepth,
        threads=written.numjobs,
        order=cast("usual.Order", written.order),
        passes=usual.PASSES if written.passes is None and written.runtime is None else written.passes,
        write_percent=written.write_share,
        runtime_ns=None if written.runtime is None else units.parse_duration_ns(written.runtime),
        flush_every=written.flush_every,
        journal=None if kept.journal is None else str(kept.journal.absolute()),
        journal_sync=kept.journal_sync,
        power_loss=kept.power_loss,
        atomic=kept.atomic,
        stuck_after_ns=units.parse_duration_ns(stuck_after),
        listed=listed,
        direct=not written.buffered,
        dsync=written.dsync,
        seed=written.seed,
        keep=keep,
        destructive=destructive,
    )
    with common.display(progress) as emit:
        verified = verify_endpoint(where, options, emit)
    common.show(verified, verify_text, json)
    return _exit(verified, kept.journal)


def _exit(verified: VerifyResult, journal: Path | None) -> int:
    from strata.model.verify import Integrity

    if verified.stopped_by is not None:
        note("stopped; the results so far are above")
    if verified.verdict is Integrity.FAILED or verified.result.stuck:
        note(f"error: verification of {verified.endpoint} did not complete: {verified.why}")
        if journal is not None and verified.result.mode != "check":
            note(f"hint: once the target is back, check it: strata verify --check --journal {journal}")
        else:
            note(
                "hint: check the target, then verify again; with --journal an interrupted run can be checked afterwards"
            )
    if verified.verdict is not Integrity.FAULTS and verified.stopped_by is not None:
        return Exit.of_signal(verified.stopped_by)
    exits = {Integrity.SOUND: Exit.FINE, Integrity.FAULTS: Exit.GATE, Integrity.FAILED: Exit.FAILED}
    return exits.get(verified.verdict, Exit.INCONCLUSIVE)
