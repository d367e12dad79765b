"""User instructions for each I/O: a count, so one run is enough."""

from __future__ import annotations

from collections.abc import Callable

from .. import counting
from ..context import Context, say
from ..estimate import exact
from ..rows import Row
from ..sample import NotHere

LIMITS = {"depth 32 batch 8": 160.0, "pread": 100.0}
OF_FIO = 0.1


def rows(ctx: Context) -> list[Row]:
    """Ours against its limits, against fio, and against t/io_uring (no limit of its own: reported in the note)."""
    say("instructions")
    made = []
    for shape, limit in LIMITS.items():
        measure = f"user instructions/IO, {shape}"
        try:
            own = counting.mine(ctx, shape)
        except (PermissionError, NotHere) as e:
            made += [
                Row(measure, "–", "", "<=", limit, why_not=str(e)),
                Row(measure, "fio", "×", "<=", OF_FIO, why_not=str(e)),
            ]
            continue
        note = "t/io_uring: " + _or_why(lambda s=shape: counting.t_io_urings(ctx, s))  # type: ignore[misc]
        made.append(Row(measure, "–", "", "<=", limit, exact(own), note))
        try:
            fio = counting.fios(ctx, shape)
            made.append(Row(measure, "fio, best", "×", "<=", OF_FIO, exact(own / fio), f"fio: {fio:,.0f}"))
        except (PermissionError, NotHere) as e:
            made.append(Row(measure, "fio, best", "×", "<=", OF_FIO, why_not=str(e)))
    return made


def _or_why(count: Callable[[], float]) -> str:
    try:
        return f"{count():,.0f}"
    except (PermissionError, NotHere) as e:
        return str(e)
