"""Block devices: what reached them and how long it stayed."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Over, Scope
from strata.model.series import SeriesKind


def _grows(name: str, unit: str, words: str) -> Counter:
    # Devices of one path stand on each other and count the same I/O again.
    return Counter(f"blockdev_{name}", unit, SeriesKind.COUNTER, Scope.DEVICE, words, Over.NONE)


READS = _grows("reads", "requests", "reads that reached the device")
WRITES = _grows("writes", "requests", "writes that reached the device")
READ_MERGES = _grows("read_merges", "requests", "reads that were joined to another")
WRITE_MERGES = _grows("write_merges", "requests", "writes that were joined to another")
READ_BYTES = _grows("read_bytes", "B", "bytes read from the device")
WRITE_BYTES = _grows("write_bytes", "B", "bytes written to the device")
READ_SECONDS = _grows("read_seconds", "s", "time of all reads, in the queue and in service")
WRITE_SECONDS = _grows("write_seconds", "s", "time of all writes, in the queue and in service")
IO_SECONDS = _grows("io_seconds", "s", "at least one request was under way")
WEIGHTED_SECONDS = _grows("weighted_seconds", "s", "its growth per second is the mean number of requests under way")
DISCARDS = _grows("discards", "requests", "discards")
DISCARD_MERGES = _grows("discard_merges", "requests", "discards that were joined to another")
DISCARD_BYTES = _grows("discard_bytes", "B", "bytes discarded")
DISCARD_SECONDS = _grows("discard_seconds", "s", "time of all discards")
FLUSHES = _grows("flushes", "requests", "flushes")
FLUSH_SECONDS = _grows("flush_seconds", "s", "time of all flushes")
STALLS = _grows("stalls", "times", "requests were under way for 35 ms or more, and none was completed")
STALLED_SECONDS = _grows("stalled_seconds", "s", "requests were under way, and none was completed for 35 ms or more")
IN_FLIGHT = Counter(
    "blockdev_in_flight", "requests", SeriesKind.GAUGE, Scope.DEVICE, "requests under way at the sample", Over.NONE
)
