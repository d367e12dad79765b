"""From the command to the first I/O: the result says when the threads were let go."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from .. import ours, tools
from ..context import Context, say
from ..estimate import median
from ..rows import Row


def rows(ctx: Context) -> list[Row]:
    """The native core alone, and the whole command line; both once before, unmeasured."""
    say("start-up")
    spec = ours.on_file(ctx, direct=False, seconds=0.01)
    native = [str(ctx.programs / "strata-load"), ours.saved(ctx, "start", spec)]
    whole = [sys.executable, "-m", "strata", "measure", "null:", "--runtime", "10ms", "--ramp-time", "0ms"]
    whole += ["--rounds", "1", "--json", "--progress", "none"]
    _first_io(native)
    _first_io(whole)
    cores = [_first_io(native) for _ in range(ctx.rounds)]
    lines = [_first_io(whole) for _ in range(ctx.rounds)]
    return [
        Row("command to first I/O, native core", "–", "s", "<=", 0.1, median(cores)),
        Row("command to first I/O, whole CLI", "–", "s", "<=", 0.5, median(lines)),
    ]


def _first_io(words: list[str]) -> float:
    begun_ns = time.time_ns()
    said: dict[str, Any] = json.loads(tools.run(words).stdout)
    return float((said.get("result") or said)["started_unix_ns"] - begun_ns) / 1e9
