"""Work the kernel does after interrupts, and where the network's share of it was cut short.

Reads    /proc/softirqs, /proc/net/softnet_stat.
Makes    ``softirqs{cpu=0|1…, kind=net_rx|net_tx|block|timer|rcu}`` (runs, counter); ``softnet_packets{cpu=…}``,
         ``softnet_drops{cpu=…}`` (packets, counter), ``softnet_squeezed{cpu=…}`` (times, counter): the budget was used
         up while packets were left.
Costs    103 µs per sample with 2 processors.
Needs    nothing.
Blind to time: processor time in them is ``cpu_seconds{mode=softirq}``; to which interface. All have 32 bits; a wrap is
         carried on.
"""

from __future__ import annotations

from collections.abc import Sequence

from strata.model.counters import interrupts
from strata.probes.port import Column, Probe, Reader, Scope

_KINDS = {b"NET_RX:": "net_rx", b"NET_TX:": "net_tx", b"BLOCK:": "block", b"TIMER:": "timer", b"RCU:": "rcu"}
_FIELDS = (interrupts.PACKETS, interrupts.DROPS, interrupts.SQUEEZED)  # in the order of the line
_CPU = 12  # the place of the processor's number, since Linux 5.10
_WRAP = float(1 << 32)


class SoftirqProbe(Reader):
    """See the module."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self._file = self.keep("/proc/softirqs", scope)
        self._net = self.keep("/proc/net/softnet_stat", scope)
        self._cpus = self._head()
        self._kinds = tuple(self._runs())
        self._rows = tuple(self._softnet())
        self.columns = (
            *(
                Column(interrupts.RUNS, {"cpu": cpu, "kind": _KINDS[kind]}, _WRAP)
                for kind in self._kinds
                for cpu in self._cpus
            ),
            *(Column(counter, {"cpu": cpu}, _WRAP) for cpu in self._rows for counter in _FIELDS),
        )

    def read(self) -> Sequence[float | None]:
        runs, net = self._runs(), self._softnet()
        values: list[float | None] = []
        for kind in self._kinds:
            row = runs.get(kind, [])
            values += [int(row[i]) if i < len(row) else None for i in range(len(self._cpus))]
        for cpu in self._rows:
            fields = net.get(cpu)
            values += [None if fields is None else int(fields[at], 16) for at in range(len(_FIELDS))]
        return values

    def _head(self) -> tuple[str, ...]:
        first = self._file.read().split(b"\n", 1)[0].split()
        return tuple(name.removeprefix(b"CPU").decode() for name in first)

    def _runs(self) -> dict[bytes, list[bytes]]:
        found = {}
        for line in self._file.read().split(b"\n")[1:]:
            kind, *row = line.split() or [b""]
            if kind in _KINDS:
                found[kind] = row
        return found

    def _softnet(self) -> dict[str, list[bytes]]:
        found = {}
        for place, line in enumerate(self._net.read().splitlines()):
            fields = line.split()
            if len(fields) >= 3:
                cpu = int(fields[_CPU], 16) if len(fields) > _CPU else place
                found[str(cpu)] = fields
        return found


def open_probe(scope: Scope) -> Probe:
    """Of the whole machine."""
    return SoftirqProbe(scope)
