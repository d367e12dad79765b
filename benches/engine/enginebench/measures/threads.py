"""Two threads instead of one, against nothing: what the threads share must not cost."""

from __future__ import annotations

import os

from .. import ours
from ..context import Context, say
from ..estimate import median, paired
from ..rows import Row


def rows(ctx: Context) -> list[Row]:
    """Ratio of rates; each thread has a processor of its own."""
    say("threads")
    measure = "threads 1 → 2, null"
    cpus = {ctx.cpu, ctx.other}
    if len(os.sched_getaffinity(0)) < 2:
        return [Row(measure, "itself", "×", ">=", 1.9, why_not="one processor only")]
    pins = [ctx.cpu, ctx.other]
    got, absent = ctx.rounds_of(
        {
            "one": lambda: ours.sample(ctx, ours.on_null(ctx, threads=1, pin_cpus=pins[:1]), cpus),
            "two": lambda: ours.sample(ctx, ours.on_null(ctx, threads=2, pin_cpus=pins), cpus),
        }
    )
    if absent:
        return [Row(measure, "itself", "×", ">=", 1.9, why_not="; ".join(absent.values()))]
    estimate = paired([s.iops for s in got["two"]], [s.iops for s in got["one"]])
    costs = [median([s.cpu_ns or 0 for s in got[name]]).value for name in ("one", "two")]
    note = f"processor time of an I/O: {costs[0]:.1f} and {costs[1]:.1f} ns (equal: nothing shared costs)"
    return [Row(measure, "itself", "×", ">=", 1.9, estimate, note)]
