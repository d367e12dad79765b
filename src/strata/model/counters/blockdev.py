"""Block devices: what reached them and how long it stayed."""

from __future__ import annotations

from strata.model.counters.counter import Family, Over, Scope

# Devices of one path stand on each other and count the same I/O again.
_DEVICE = Family("blockdev_", Scope.DEVICE, over=Over.NONE)

READS = _DEVICE.grows("reads", "requests", "reads that reached the device")
WRITES = _DEVICE.grows("writes", "requests", "writes that reached the device")
READ_MERGES = _DEVICE.grows("read_merges", "requests", "reads merged with an adjacent request")
WRITE_MERGES = _DEVICE.grows("write_merges", "requests", "writes merged with an adjacent request")
READ_BYTES = _DEVICE.grows("read_bytes", "B", "bytes read from the device")
WRITE_BYTES = _DEVICE.grows("write_bytes", "B", "bytes written to the device")
READ_SECONDS = _DEVICE.grows("read_seconds", "s", "time of all reads, in the queue and in service")
WRITE_SECONDS = _DEVICE.grows("write_seconds", "s", "time of all writes, in the queue and in service")
IO_SECONDS = _DEVICE.grows("io_seconds", "s", "time with at least one request in flight")
WEIGHTED_SECONDS = _DEVICE.grows(
    "weighted_seconds", "s", "sum of the times of all requests; its growth per second is the mean number in flight"
)
DISCARDS = _DEVICE.grows("discards", "requests", "discards")
DISCARD_MERGES = _DEVICE.grows("discard_merges", "requests", "discards merged with an adjacent request")
DISCARD_BYTES = _DEVICE.grows("discard_bytes", "B", "bytes discarded")
DISCARD_SECONDS = _DEVICE.grows("discard_seconds", "s", "time of all discards")
FLUSHES = _DEVICE.grows("flushes", "requests", "flushes")
FLUSH_SECONDS = _DEVICE.grows("flush_seconds", "s", "time of all flushes")
STALLS = _DEVICE.grows("stalls", "times", "times that requests were in flight for 35 ms or more and none completed")
STALLED_SECONDS = _DEVICE.grows(
    "stalled_seconds", "s", "time of these stalls: requests in flight, and none completed for 35 ms or more"
)
IN_FLIGHT = _DEVICE.stands("in_flight", "requests", "requests in flight at the sample")
