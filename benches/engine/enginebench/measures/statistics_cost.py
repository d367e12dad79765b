"""What statistics cost: the same loop with and without them.

A ramp is run and not counted, so a run that is nearly all ramp keeps no statistics; nothing in the loop is switched.
"""

from __future__ import annotations

from typing import Any

from .. import counting, ours
from ..context import Context, say
from ..estimate import median
from ..rows import Row
from ..sample import NotHere, Sample

END_NS = 1_000_000


def rows(ctx: Context) -> list[Row]:
    """The difference in ns on the null endpoint; the difference in instructions in the note."""
    say("statistics")
    span = int(ctx.seconds * 1e9)
    on = ours.on_null(ctx)
    off = ours.on_null(ctx, seconds=END_NS / 1e9, ramp_ns=span - END_NS)
    got, absent = ctx.rounds_of({"on": lambda: _cost(ctx, on), "off": lambda: _cost(ctx, off)})
    measure = "statistics on − off, null, depth 32"
    if absent:
        return [Row(measure, "itself", "ns", "<=", 5.0, why_not="; ".join(absent.values()))]
    gaps = [(a.cpu_ns or 0) - (b.cpu_ns or 0) for a, b in zip(got["on"], got["off"], strict=True)]
    try:
        counts = [counting.mine(ctx, "depth 32 batch 8", statistics=s) for s in (True, False)]
        note = f"{counts[0] - counts[1]:.1f} instructions of {counts[0]:.0f}"
    except (PermissionError, NotHere) as e:
        note = str(e)
    return [Row(measure, "itself", "ns", "<=", 5.0, median(gaps), note)]


def _cost(ctx: Context, spec: dict[str, Any]) -> Sample:
    """All I/Os, and the process's whole cost: start-up is the same in both and falls out of the difference."""
    answer, done = ours.result(ctx, spec)
    ios = answer["completed"]
    return Sample(ios, ios / ctx.seconds, done.user_ns / ios, done.cpu_ns / ios)
