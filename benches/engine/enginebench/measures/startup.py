"""From the command to the first I/O: the result says when the threads were let go."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import strata

from .. import ours, tools
from ..context import Context, say
from ..estimate import median
from ..rows import Row


def rows(ctx: Context) -> list[Row]:
    """The native core alone, and the whole command line; both once before, unmeasured.

    The command line runs 0.05 s against nothing first, to know the generator's ceiling; that is part of its time.
    """
    say("start-up")
    spec = ours.on_file(ctx, direct=False, seconds=0.01)
    native = [str(ctx.programs / "strata-load"), ours.saved(ctx, "start", spec)]
    whole = [sys.executable, "-m", "strata", "measure", "null:", "--runtime", "10ms", "--ramp-time", "0ms"]
    whole += ["--json", "--progress", "none"]
    if not ctx.smoke:
        # As an installation has it, also where the environment asks Python to write no bytecode.
        tools.run([sys.executable, "-m", "compileall", "-q", str(Path(strata.__file__).parent)])
        _first_io(native)
        _first_io(whole)
    made = []
    for words, name, must in ((native, "native core", 0.1), (whole, "whole CLI", 0.5)):
        runs = [_first_io(words) for _ in range(ctx.rounds)]
        note = f"processor time of the whole command {median([cpu for _, cpu in runs]).value:.2f} s"
        estimate = median([first for first, _ in runs])
        made.append(Row(f"command to first I/O, {name}", "–", "s", "<=", must, estimate, note))
    return made


def _first_io(words: list[str]) -> tuple[float, float]:
    """Seconds until the target's first I/O, and of processor time until the end."""
    begun_ns = time.time_ns()
    done = tools.run(words)
    said: dict[str, Any] = json.loads(done.stdout)
    return ((said.get("result") or said)["started_unix_ns"] - begun_ns) / 1e9, done.cpu_ns / 1e9
