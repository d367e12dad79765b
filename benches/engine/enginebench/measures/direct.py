"""A real file past the page cache: nobody may be faster, and the latency must agree with the rate."""

from __future__ import annotations

import statistics
from dataclasses import replace

from .. import counting, fio, ours, tio
from ..context import Context, Leg, say
from ..estimate import exact, median, paired, pooled
from ..rows import Row
from ..sample import NotHere


def rows(ctx: Context) -> list[Row]:
    """Depths 1, 8 and 32."""
    return [row for depth in (1, 8, 32) for row in _at(ctx, depth)]


def _at(ctx: Context, depth: int) -> list[Row]:
    say(f"O_DIRECT, depth {depth}")
    legs: dict[str, Leg] = {
        "ours": lambda: ours.sample(ctx, ours.on_file(ctx, direct=True, iodepth=depth)),
        "fio, registered": lambda: fio.sample(ctx, fio.words(ctx, "io_uring", depth, True, *fio.best(depth))),
        "t/io_uring": lambda: tio.sample(ctx, depth, True),
    }
    if not ctx.smoke:
        legs["fio, defaults"] = lambda: fio.sample(ctx, fio.words(ctx, "io_uring", depth, True))
    got, absent = ctx.rounds_of(legs)
    speed, user = f"IOPS, O_DIRECT, depth {depth}", f"user CPU/IO, O_DIRECT, depth {depth}"
    peers = [name for name in got if name != "ours"]
    if "ours" in absent or not peers:
        why = absent.get("ours") or "; ".join(absent.values())
        return [Row(speed, "best peer", "×", ">=", 0.98, why_not=why), Row(user, "fio", "×", "<=", 0.25, why_not=why)]
    mine = got["ours"]
    best = max(peers, key=lambda name: statistics.median(s.iops for s in got[name]))
    note = f"{statistics.median(s.iops for s in mine):,.0f} /s"
    against = paired([s.iops for s in mine], [s.iops for s in got[best]])
    made = [Row(speed, best, "×", ">=", 0.98, against, note, within=True)]
    if "fio, registered" in got:
        theirs = [s.user_ns or 0 for s in got["fio, registered"]]
        estimate = pooled([s.user_ns or 0 for s in mine], theirs)
        made.append(_counted(ctx, Row(user, "fio, registered", "×", "<=", 0.25, estimate, "split by ticks"), depth))
    else:
        made.append(Row(user, "fio", "×", "<=", 0.25, why_not=absent["fio, registered"]))
    if depth == 1:
        gaps = [abs((s.mean_ns or 0) * s.iops / 1e9 - 1) * 100 for s in mine]
        made.append(Row("mean latency against 1/IOPS, depth 1", "itself", "%", "<=", 3.0, median(gaps)))
    return made


def _counted(ctx: Context, row: Row, depth: int) -> Row:
    """At depth 1 by instructions: the split by ticks calls 110 to 150 ns of each I/O that sleeps the user's even where
    the user's code is a bare loop of `pread` with nothing around it, and half as much again is all there is to tell."""
    if depth > 1 or row.estimate is None:
        return row
    try:
        own, theirs = counting.mine(ctx, "depth 1"), counting.fios(ctx, "depth 1")
    except (PermissionError, NotHere):
        return row
    note = f"by instructions: {own:.0f} against {theirs:,.0f}; by ticks {row.estimate.value:.2g}, see README"
    return replace(row, estimate=exact(own / theirs), note=note)
