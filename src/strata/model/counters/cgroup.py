"""Control groups: when a CPU quota held processes of the path back."""

from __future__ import annotations

from strata.model.counters.counter import Family, Over, Scope

# The group that Strata itself runs in names no process. A group and the groups above it count the same wall time.
_GROUP = Family("cgroup_", Scope.GROUP, over=Over.NONE, also=("process",))

PERIODS = _GROUP.grows("periods", "periods", "periods of a CPU quota")
THROTTLED_PERIODS = _GROUP.grows("throttled_periods", "periods", "periods in which the CPU quota was used up")
THROTTLED_SECONDS = _GROUP.grows("throttled_seconds", "s", "time throttled by a CPU quota", over=Over.SUM)
