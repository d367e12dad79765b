"""Members of a device that is made of several: RAID legs, paths, parts of a volume."""

from __future__ import annotations

from strata.model.counters.counter import Family, Over, Scope

_MEMBER, _ARRAY = Family("member_", Scope.MEMBER), Family("md_", Scope.DEVICE, over=Over.NONE)

READ_BYTES = _MEMBER.grows("read_bytes", "B", "bytes read from the member")
WRITE_BYTES = _MEMBER.grows("write_bytes", "B", "bytes written to the member")
SECONDS = _MEMBER.grows("seconds", "s", "time of all its requests")
RUNNING = _MEMBER.stands("running", "1 or 0", "whether the path is in use")
DEGRADED = _ARRAY.stands("degraded", "members", "missing members of the array")
MISMATCHES = _ARRAY.stands("mismatches", "sectors", "sectors whose copies or parity differed")
