"""Option types of the patterns that `measure` can be asked for, in fio's words where fio has one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strata.app import names
from strata.cli import completing
from strata.errors import UsageError

RandomDistribution = Annotated[
    str | None,
    typer.Option(
        help="Which blocks are hot: random (none), zipf:THETA, zoned:90/10:10/90 (% of I/Os / % of the range), "
        "zoned_abs:90/1g:10/9g (% of I/Os / bytes)."
    ),
]
Randommap = Annotated[bool, typer.Option("--randommap", help="Random, each block once before any comes again.")]
Interlocked = Annotated[
    bool, typer.Option("--interlocked", help="Sequential: all threads take turns on one sequence (diskspd's -si).")
]
Stride = Annotated[str | None, typer.Option(help="Sequential: bytes from the beginning of one I/O to the next.")]
OffsetIncrement = Annotated[
    str | None, typer.Option(help="Sequential: bytes from the beginning of one thread's sequence to the next thread's.")
]
BsSplit = Annotated[
    str | None, typer.Option(help="Several sizes, e.g. 4k/60:64k/40 (percent); writes after a comma if they differ.")
]
RwmixRun = Annotated[int, typer.Option(help="I/Os of a thread that follow each other in one direction, for mixes.")]
Blockalign = Annotated[str | None, typer.Option(help="I/Os begin at multiples of this; default: of their size.")]
Misalign = Annotated[str | None, typer.Option(help="Bytes by which every I/O begins behind such a multiple.")]
RANGE = typer.Option("--range", help="Only this piece of the data: START or START:LENGTH, e.g. 1g:512m.")
Fsync = Annotated[int, typer.Option(help="fsync after so many writes of a thread.")]
Fdatasync = Annotated[int, typer.Option(help="fdatasync after so many writes of a thread.")]
Compress = Annotated[int | None, typer.Option(help="Percent of the written data that a compressor can save (0 to 99).")]
Dedupe = Annotated[int | None, typer.Option(help="Percent of the written 4 KiB units that repeat an earlier one.")]
Refill = Annotated[bool, typer.Option("--refill-buffers", help="Make all data of every write anew (costs processor).")]
RateBurst = Annotated[int, typer.Option(help="Open loop: starts of a thread that share an instant.")]
LimitIops = Annotated[float | None, typer.Option(help="Closed loop: at most so many I/Os a second, over all threads.")]
LimitBytes = Annotated[str | None, typer.Option(help="Closed loop: at most so many bytes a second, e.g. 100m.")]
Thinktime = Annotated[
    str | None, typer.Option(help="Closed loop: pause of a thread once its I/Os are done, e.g. 10ms.")
]
ThinktimeBlocks = Annotated[int, typer.Option(help="I/Os of a thread before each pause.")]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        help="A further file or device of the same kind, loaded together with WHERE; repeatable.",
        autocompletion=completing.endpoints,
    ),
]
Shares = Annotated[str | None, typer.Option(help="Shares of WHERE and each --target in the I/Os, e.g. 3:1:1.")]
Deal = Annotated[
    str, typer.Option(help="share: every thread to all targets; thread: each thread to one, in turn, with its depth.")
]
ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile",
        help="The workloads of an application, and how well they must be served: "
        f"{', '.join(names.profiles())}, or a .toml file.",
        autocompletion=completing.profiles,
    ),
]
JobFile = Annotated[
    Path | None,
    typer.Option("--job", help="Workloads from a fio job file, one for each section, in place of the usual set."),
]

FromTrace = Annotated[
    str | None,
    typer.Option(
        "--from-trace",
        help="Derive a profile: a saved trace, blkparse's text, a fio job file, a command line of fio or diskspd.",
    ),
]
WriteProfile = Annotated[
    Path | None,
    typer.Option("--write-profile", help="Keep what --from-trace derived in this .toml file, for --profile."),
]


def shares_of(text: str | None, targets: int) -> tuple[int, ...]:
    """The weights of so many targets: equal ones without a text, none for a single target. Raises `UsageError`."""
    if targets == 1 and text is None:
        return ()
    parts = ["1"] * targets if text is None else text.split(":")
    if len(parts) != targets or not all(part.strip().isdecimal() for part in parts):
        why = f"{targets} targets need as many whole numbers"
        raise UsageError("cannot use --shares", str(text), why, "for example: --target file:/b --shares 3:1")
    return tuple(int(part) for part in parts)
