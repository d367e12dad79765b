"""The user's share of the processor time of a 4 KiB random read of a file in the page cache, at depth 32."""

from __future__ import annotations

from dataclasses import replace

from .. import fio, ours, tio
from ..context import Context, say
from ..estimate import pooled
from ..rows import Row
from ..sample import Sample
from .hot import TIO

LONGER = 4
"""Times the length of the other runs: the kernel splits a thread's time by where its ticks fall, and a twentieth of
them fall into the user's part."""
LIMITS = {"fio, defaults": 0.2, TIO: 1.25}


def rows(ctx: Context) -> list[Row]:
    """Ours against each peer."""
    say("user time of a hot file, depth 32")
    longer = replace(ctx, seconds=LONGER * ctx.seconds)
    got, absent = longer.rounds_of(
        {
            "ours": lambda: ours.sample(longer, ours.on_file(longer, direct=False, iodepth=32)),
            "fio, defaults": lambda: fio.sample(longer, fio.words(longer, "io_uring", 32, False)),
            TIO: lambda: tio.sample(longer, 32, False),
        }
    )
    return [_row(got, absent, peer, limit) for peer, limit in LIMITS.items()]


def _row(got: dict[str, list[Sample]], absent: dict[str, str], peer: str, limit: float) -> Row:
    measure = "user CPU/IO, hot file, depth 32"
    if why := absent.get("ours") or absent.get(peer):
        return Row(measure, peer, "×", "<=", limit, why_not=why)
    mine, theirs = ([s.user_ns or 0 for s in got[name]] for name in ("ours", peer))
    note = f"{sum(mine) / len(mine):.0f} ns against {sum(theirs) / len(theirs):.0f}, split by ticks"
    return Row(measure, peer, "×", "<=", limit, pooled(mine, theirs), note)
