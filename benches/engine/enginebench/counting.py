"""User instructions for each I/O, by single-step: ours in the shapes that are gated, the peers' in the same ones."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from . import fio, ours, tio
from .context import Context
from .sample import NotHere

REFUSED = 3
# Ours samples the submit call once in 64 submissions: 64 of them, of 8 I/Os at most, are one whole turn of its loop.
# Blocking reads are counted up to 64 together, the ring's at depth 1 one by one.
TURN = 512
GATED = ("depth 32 batch 8", "depth 1", "pread", "null")


def icount(ctx: Context, command: list[str], *words: str) -> dict[str, Any]:
    """One line of `icount` about `command`. PermissionError where this process may not trace."""
    tool = [str(ctx.programs / "icount"), "--cpu", str(ctx.cpu), *words, "--", *command]
    done = subprocess.run(tool, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode == REFUSED:
        raise PermissionError(done.stderr.strip())
    if done.returncode:
        raise NotHere(done.stderr.strip())
    line: dict[str, Any] = json.loads(done.stdout.splitlines()[0])
    return line


def mine(ctx: Context, shape: str, statistics: bool = True) -> float:
    """Ours in one of the gated shapes. Without statistics the whole count lies in a ramp, in which none are kept."""
    ramp = {} if statistics else {"ramp_ns": ours.HOUR_NS}
    changes: dict[str, Any] = {"interval_ns": ours.HOUR_NS, "engine": "io_uring", **ramp}
    if shape == "null":
        return _null(ctx)
    if shape == "pread":
        changes |= {"engine": "pool", "iodepth": 1}
    elif shape == "depth 1":
        changes |= {"iodepth": 1}
    spec = ours.on_file(ctx, direct=False, seconds=3600, **changes)
    command = [str(ctx.programs / "strata-load"), ours.saved(ctx, "count", spec)]
    ios = TURN // 8 if shape == "depth 1" else TURN
    # First the histogram must have seen how short and how long they are: stepped I/Os take longer than those before.
    skip = TURN // 8 if ctx.smoke else 8 * TURN
    return float(icount(ctx, command, "--skip", str(skip), "--ios", str(ios))["per_io"])


def _null(ctx: Context) -> float:
    """No system call tells its I/Os: two runs of different length, and the difference of what they took.

    The price of asking for a share of `stop_after`, once in eight I/Os, is in it. So is chance: the last interval is
    closed inside the section, and walks all buckets between the smallest and the largest time; hence many I/Os.
    """
    counts = (TURN, 17 * TURN)
    took = []
    for ios in counts:
        spec = ours.on_null(ctx, seconds=3600, bs=512, interval_ns=ours.HOUR_NS, stop_after={"ios": ios})
        command = [str(ctx.programs / "strata-load"), ours.saved(ctx, "count", spec)]
        took.append(icount(ctx, command, "--section", "getrusage=1")["instructions"])
    return float(took[1] - took[0]) / (counts[1] - counts[0])


def fios(ctx: Context, shape: str) -> float:
    """fio's best set-up in the same shape."""
    if shape == "pread":
        command = fio.words(ctx, "psync", 1, False, seconds=600)
    else:
        depth = 32 if shape.startswith("depth 32") else 1
        command = fio.words(ctx, "io_uring", depth, False, *fio.best(depth), seconds=600)
    return float(icount(ctx, command, "--skip", "64", "--ios", "32" if ctx.smoke else "256")["per_io"])


def t_io_urings(ctx: Context, shape: str) -> float:
    """t/io_uring with its latency histogram, which begins a second into the run."""
    if shape == "pread":
        command = tio.words(ctx, 1, False, "-S1", str(ctx.file), latency=False)
    else:
        command = tio.words(ctx, 32 if shape.startswith("depth 32") else 1, False, str(ctx.file))
    return float(icount(ctx, command, "--after-ms", "1300", "--ios", str(TURN))["per_io"])
