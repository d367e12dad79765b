"""I/Os that do nothing: our null endpoint, fio's null engine, and NOPs of a ring in t/io_uring."""

from __future__ import annotations

from .. import fio, ours, tio
from ..context import Context, Leg, say
from ..estimate import pooled
from ..rows import Row


def rows(ctx: Context) -> list[Row]:
    """User ns for each I/O at depth 32, as ratios."""
    say("nop")
    legs: dict[str, Leg] = {
        "ours": lambda: ours.sample(ctx, ours.on_null(ctx)),
        "fio, null engine": lambda: fio.sample(ctx, fio.words(ctx, "null", 32, False)),
        "t/io_uring -N1": lambda: tio.sample(ctx, 32, False, nop=True),
    }
    got, absent = ctx.rounds_of(legs)
    made = []
    for peer, limit in (("t/io_uring -N1", 2.0), ("fio, null engine", 1 / 15)):
        if why := absent.get("ours") or absent.get(peer):
            made.append(Row("user CPU/IO, nop", peer, "×", "<=", limit, why_not=why))
            continue
        mine, theirs = ([s.user_ns or 0 for s in got[name]] for name in ("ours", peer))
        note = f"{sum(mine) / len(mine):.1f} ns against {sum(theirs) / len(theirs):.1f}"
        made.append(Row("user CPU/IO, nop", peer, "×", "<=", limit, pooled(mine, theirs), note))
    return made
