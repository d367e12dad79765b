"""Work the kernel does after interrupts, and where the network's share of it was cut short.

Reads    /proc/softirqs, /proc/net/softnet_stat.
Makes    ``softirqs{cpu=0|1…, kind=net_rx|net_tx|block|timer|rcu}`` (runs, counter); ``softnet_packets{cpu=…}``,
         ``softnet_drops{cpu=…}`` (packets, counter), ``softnet_squeezed{cpu=…}`` (times, counter): the budget was used
         up while packets were left.
Costs    103 µs per sample with 2 CPUs.
Needs    nothing.
Blind to time: CPU time in them is ``cpu_seconds{mode=softirq}``; to which interface. All have 32 bits; a wrap is
         carried on.
"""

from __future__ import annotations

from strata.model.counters import interrupts
from strata.probes.port import ProbeScope, TableProbe, Told

_KINDS = {b"NET_RX:": "net_rx", b"NET_TX:": "net_tx", b"BLOCK:": "block", b"TIMER:": "timer", b"RCU:": "rcu"}
_FIELDS = (interrupts.PACKETS, interrupts.DROPS, interrupts.SQUEEZED)  # in the order of the line
_CPU = 12  # the place of the processor's number, since Linux 5.10


class SoftirqProbe(TableProbe):
    """Of the whole machine."""

    wraps = dict.fromkeys((interrupts.RUNS, *_FIELDS), float(1 << 32))

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        self._file = self.keep("/proc/softirqs", scope)
        self._net = self.keep("/proc/net/softnet_stat", scope)
        self.begin()

    def told(self) -> Told:
        found: Told = {}
        head, *lines = self._file.read().split(b"\n")
        cpus = [name.removeprefix(b"CPU").decode() for name in head.split()]
        for line in lines:
            kind, *row = line.split() or [b""]
            if kind in _KINDS:
                found |= {(interrupts.RUNS, (cpu, _KINDS[kind])): int(n) for cpu, n in zip(cpus, row, strict=False)}
        for place, line in enumerate(self._net.read().splitlines()):
            fields = line.split()
            if len(fields) >= len(_FIELDS):
                cpu = str(int(fields[_CPU], 16) if len(fields) > _CPU else place)
                found |= {(counter, (cpu,)): int(n, 16) for counter, n in zip(_FIELDS, fields, strict=False)}
        return found


open_probe = SoftirqProbe
