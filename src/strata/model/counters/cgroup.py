"""Control groups: when a processor quota held processes of the path back."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Over, Scope
from strata.model.series import SeriesKind


def _grows(name: str, unit: str, words: str, over: Over) -> Counter:
    # The group that Strata itself runs in names no process.
    return Counter(f"cgroup_{name}", unit, SeriesKind.COUNTER, Scope.GROUP, words, over, also=("process",))


# A group and the groups above it count the same wall time.
PERIODS = _grows("periods", "periods", "periods of a CPU quota", Over.NONE)
THROTTLED_PERIODS = _grows("throttled_periods", "periods", "periods in which the CPU quota was used up", Over.NONE)
THROTTLED_SECONDS = _grows("throttled_seconds", "s", "time throttled by a CPU quota", Over.SUM)
