"""Block devices: what reached them and how long it stayed."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Over, Scope
from strata.model.series import SeriesKind


def _grows(name: str, unit: str, words: str) -> Counter:
    # Devices of one path stand on each other and count the same I/O again.
    return Counter(f"blockdev_{name}", unit, SeriesKind.COUNTER, Scope.DEVICE, words, Over.NONE)


READS = _grows("reads", "requests", "reads that reached the device")
WRITES = _grows("writes", "requests", "writes that reached the device")
READ_MERGES = _grows("read_merges", "requests", "reads merged with an adjacent request")
WRITE_MERGES = _grows("write_merges", "requests", "writes merged with an adjacent request")
READ_BYTES = _grows("read_bytes", "B", "bytes read from the device")
WRITE_BYTES = _grows("write_bytes", "B", "bytes written to the device")
READ_SECONDS = _grows("read_seconds", "s", "time of all reads, in the queue and in service")
WRITE_SECONDS = _grows("write_seconds", "s", "time of all writes, in the queue and in service")
IO_SECONDS = _grows("io_seconds", "s", "time with at least one request in flight")
WEIGHTED_SECONDS = _grows(
    "weighted_seconds", "s", "sum of the times of all requests; its growth per second is the mean number in flight"
)
DISCARDS = _grows("discards", "requests", "discards")
DISCARD_MERGES = _grows("discard_merges", "requests", "discards merged with an adjacent request")
DISCARD_BYTES = _grows("discard_bytes", "B", "bytes discarded")
DISCARD_SECONDS = _grows("discard_seconds", "s", "time of all discards")
FLUSHES = _grows("flushes", "requests", "flushes")
FLUSH_SECONDS = _grows("flush_seconds", "s", "time of all flushes")
STALLS = _grows("stalls", "times", "times that requests were in flight for 35 ms or more and none completed")
STALLED_SECONDS = _grows(
    "stalled_seconds", "s", "time of these stalls: requests in flight, and none completed for 35 ms or more"
)
IN_FLIGHT = Counter(
    "blockdev_in_flight", "requests", SeriesKind.GAUGE, Scope.DEVICE, "requests in flight at the sample", Over.NONE
)
