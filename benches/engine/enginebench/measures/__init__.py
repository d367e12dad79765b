"""One module for each line of the table. Each gives rows from a context; `ALL` is their order."""

from __future__ import annotations

from collections.abc import Callable

from ..context import Context
from ..rows import Row
from . import direct, histogram, hot, instructions, nbd, nop, rate, startup, statistics_cost, threads, user

Measure = Callable[[Context], list[Row]]

ALL: dict[str, Measure] = {
    "instructions": instructions.rows,
    "hot": hot.rows,
    "user": user.rows,
    "nop": nop.rows,
    "direct": direct.rows,
    "statistics": statistics_cost.rows,
    "rate": rate.rows,
    "histogram": histogram.rows,
    "nbd": nbd.rows,
    "threads": threads.rows,
    "startup": startup.rows,
}
