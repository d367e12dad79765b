"""Members of a device that is made of several: RAID legs, paths, parts of a volume."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Over, Scope
from strata.model.series import SeriesKind


def _grows(name: str, unit: str, words: str) -> Counter:
    return Counter(f"member_{name}", unit, SeriesKind.COUNTER, Scope.MEMBER, words)


READ_BYTES = _grows("read_bytes", "B", "bytes read from the member")
WRITE_BYTES = _grows("write_bytes", "B", "bytes written to the member")
SECONDS = _grows("seconds", "s", "time of all its requests")
RUNNING = Counter("member_running", "1 or 0", SeriesKind.GAUGE, Scope.MEMBER, "whether the path is in use")
DEGRADED = Counter("md_degraded", "members", SeriesKind.GAUGE, Scope.DEVICE, "missing members of the array", Over.NONE)
MISMATCHES = Counter(
    "md_mismatches", "sectors", SeriesKind.GAUGE, Scope.DEVICE, "sectors whose copies or parity differed", Over.NONE
)
