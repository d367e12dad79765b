"""Block devices: what reached them and how long it stayed.

Reads    /sys/class/block/<device>/stat, for every device it is given.
Makes    with ``{device=…}``: ``blockdev_reads``, ``blockdev_writes``, ``blockdev_read_merges``,
         ``blockdev_write_merges``, ``blockdev_flushes`` (requests, counter), ``blockdev_read_bytes``,
         ``blockdev_write_bytes`` (B, counter), ``blockdev_discards``, ``blockdev_discard_merges`` (requests, counter),
         ``blockdev_discard_bytes`` (B, counter), ``blockdev_discard_seconds`` (s, counter),
         ``blockdev_read_seconds``, ``blockdev_write_seconds``, ``blockdev_flush_seconds`` (s, counter: summed over
         requests, queue and service), ``blockdev_io_seconds`` (s, counter: at least one request was under way),
         ``blockdev_weighted_seconds`` (s, counter: its growth per second is the mean number under way) and
         ``blockdev_in_flight`` (requests, gauge).
Costs    65 µs per sample with 1 device, 6 µs for each more.
Needs    nothing; discards need Linux 4.18, flushes Linux 5.5 and a whole device (partitions count none).
Blind to requests held back above the block layer (a cgroup's throttle, a file system's lock); who asked. Times
         have a grain of 1 ms, ``io_seconds`` of a kernel tick. Share of time busy is no utilisation of a device
         that serves several requests at once. A flush counts among the writes too, with no bytes (seen on 6.18).
         Counters of milliseconds have 32 bits; the wrap is carried on.
"""

from __future__ import annotations

from strata.host.block import BASE, SECTOR
from strata.model.counters import blockdev
from strata.probes.port import ProbeScope, TableProbe, Told

_MS, _WRAP = 1e-3, 1 << 32

# (counter, factor) in the order of the line
_FIELDS = (
    (blockdev.READS, 1),
    (blockdev.READ_MERGES, 1),
    (blockdev.READ_BYTES, SECTOR),
    (blockdev.READ_SECONDS, _MS),
    (blockdev.WRITES, 1),
    (blockdev.WRITE_MERGES, 1),
    (blockdev.WRITE_BYTES, SECTOR),
    (blockdev.WRITE_SECONDS, _MS),
    (blockdev.IN_FLIGHT, 1),
    (blockdev.IO_SECONDS, _MS),
    (blockdev.WEIGHTED_SECONDS, _MS),
    (blockdev.DISCARDS, 1),
    (blockdev.DISCARD_MERGES, 1),
    (blockdev.DISCARD_BYTES, SECTOR),
    (blockdev.DISCARD_SECONDS, _MS),
    (blockdev.FLUSHES, 1),
    (blockdev.FLUSH_SECONDS, _MS),
)


class BlockdevProbe(TableProbe):
    """Of ``scope.devices``: names as in /sys/class/block (``vda``) or their nodes (``/dev/vda``)."""

    wraps = {counter: _WRAP * _MS for counter, factor in _FIELDS if factor == _MS}

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        self._files = {name: self.keep(f"{BASE}/{name}/stat", scope) for name in scope.device_names}
        self.absent = tuple(f"no device {name}" for name, file in self._files.items() if not file.there)
        self.begin()

    def told(self) -> Told:
        # A device that is not there, or has fewer fields, has no such column: absent is absent.
        return {
            (counter, (name,)): int(value) * factor
            for name, file in self._files.items()
            for (counter, factor), value in zip(_FIELDS, file.read().split(), strict=False)
        }


open_probe = BlockdevProbe
