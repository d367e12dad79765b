"""Clocks: whether the wall clock ran beside the monotonic one or was set."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Over, Scope
from strata.model.series import SeriesKind

REALTIME, BOOTTIME = "realtime", "boottime"

OFFSET = Counter(
    "clock_offset_seconds",
    "s",
    SeriesKind.GAUGE,
    Scope.CLOCK,
    "drift of the clock against the monotonic clock",
    Over.NONE,
)
