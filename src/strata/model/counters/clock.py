"""Clocks: whether the wall clock ran beside the monotonic one or was set."""

from __future__ import annotations

from strata.model.counters.counter import Family, Over, Scope

REALTIME, BOOTTIME = "realtime", "boottime"

OFFSET = Family("clock_", Scope.CLOCK, over=Over.NONE).stands(
    "offset_seconds", "s", "drift of the clock against the monotonic clock"
)
