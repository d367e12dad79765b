"""Network interfaces: what passed each, in each direction.

Reads    /proc/net/dev (of the network namespace it runs in).
Makes    ``net_bytes`` (B, counter), ``net_packets``, ``net_drops``, ``net_errors`` (packets, counter), each with
         ``{interface=…, direction=rx|tx}``.
Costs    11.8 µs per sample with 4 interfaces.
Needs    nothing.
Blind to other network namespaces; interfaces that appear after it was opened; retransmits; RDMA, which
         passes the kernel by.
"""

from __future__ import annotations

from collections.abc import Sequence

from strata.host.proc import Sys
from strata.model.series import SeriesKind
from strata.probes.port import Column, Kept, Probe

# (place in the line, metric, unit, direction)
_FIELDS = tuple(
    (first + place, metric, unit, direction)
    for direction, first in (("rx", 0), ("tx", 8))
    for place, metric, unit in (
        (0, "net_bytes", "B"),
        (1, "net_packets", "packets"),
        (2, "net_errors", "packets"),
        (3, "net_drops", "packets"),
    )
)


class NetProbe:
    """See the module."""

    def __init__(self, sys: Sys) -> None:
        self._file = Kept("/proc/net/dev", sys)
        self._interfaces = tuple(self._rows())
        self.columns: tuple[Column, ...] = tuple(
            Column(metric, unit, SeriesKind.COUNTER, {"interface": name, "direction": direction})
            for name in self._interfaces
            for _, metric, unit, direction in _FIELDS
        )

    def read(self) -> Sequence[float | None]:
        rows = self._rows()
        values: list[float | None] = []
        for name in self._interfaces:
            row = rows.get(name)
            values += [None] * len(_FIELDS) if row is None else [int(row[f[0]]) for f in _FIELDS]
        return values

    def close(self) -> None:
        self._file.close()

    def _rows(self) -> dict[str, list[bytes]]:
        lines = self._file.read().split(b"\n")[2:]
        pairs = (line.rpartition(b":") for line in lines)
        return {name.strip().decode(): row for name, _, rest in pairs if len(row := rest.split()) >= 16}


def open_probe(devices: Sequence[str], sys: Sys) -> Probe:
    """``devices`` does not matter here."""
    return NetProbe(sys)
