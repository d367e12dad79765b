"""What a changing set of processes spends, as counters that only grow.

A process that began while we watch counts from its birth, however late it was seen. One that ended stays counted: its
parent has its time from the moment it waits for it, and where none did, what it had when it was last seen is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from strata.probes.processes import TICK_S
from strata.probes.servers.spent import Spent
from strata.units import NS_PER_S

Key = tuple[int, int]
"""Number and start time (clock ticks since boot): never another process."""


class _Sums(NamedTuple):
    """None: not told by one of them."""

    user_s: float | None = 0.0
    system_s: float | None = 0.0
    run_delay_s: float | None = 0.0
    switches: float | None = 0.0
    read_bytes: float | None = 0.0
    written_bytes: float | None = 0.0

    def plus(self, other: _Sums, sign: int = 1) -> _Sums:
        pairs = zip(self, other, strict=True)
        return _Sums(*(None if a is None or b is None else a + sign * b for a, b in pairs))


class ServerSample(NamedTuple):
    """One sample, in the order in which the probe gives it. ``busiest`` is the share of one CPU that the busiest
    thread took since the sample before."""

    user_s: float | None
    system_s: float | None
    run_delay_s: float | None
    switches: float | None
    read_bytes: float | None
    written_bytes: float | None
    resident_bytes: float
    processes: int
    busiest: float | None


class Account:
    """Of one server. ``began``: clock ticks since boot at which the watching began."""

    def __init__(self, began: int) -> None:
        self._began = began
        self._last: Mapping[Key, Spent] = {}
        self._at_ns: int | None = None
        self._carried = _Sums()
        self._no_time = self._no_waits = False

    @property
    def last(self) -> Mapping[Key, Spent]:
        """What each had spent at the last sample."""
        return self._last

    def sample(self, alive: Mapping[Key, Spent], at_ns: int) -> ServerSample:
        """The next sample: every process of the server that there is now, and what it has spent."""
        gone = [spent for key, spent in self._last.items() if key not in alive]
        lost = self._buried(gone, alive)
        for key, spent in alive.items():
            if self._at_ns is not None and key not in self._last and key[1] < self._began:
                # It joined: what it did before is not this server's.
                self._carried = self._carried.plus(_sums(spent), -1)
        total = self._carried
        for spent in alive.values():
            total = total.plus(_sums(spent))
        # The last moments of who went are missing from this sample, which would bend the rate: it is left out. Never
        # two in a row, for a server that has a process for each request.
        self._no_time = lost and not self._no_time
        self._no_waits = bool(gone) and not self._no_waits
        if self._no_time:
            total = total._replace(user_s=None, system_s=None)
        if self._no_waits:
            total = total._replace(run_delay_s=None, switches=None)
        resident = sum(s.resident_bytes for s in alive.values())
        row = ServerSample(*total, resident, len(alive), self._busiest(alive, at_ns))
        self._last, self._at_ns = dict(alive), at_ns
        return row

    def _buried(self, gone: list[Spent], alive: Mapping[Key, Spent]) -> bool:
        """Keeps what those that went had; whether some of it nobody has taken over."""
        if not gone:
            return False
        had = sum(s.user_s + s.system_s for s in gone)
        taken = sum(s.reaped_s - self._last[key].reaped_s for key, s in alive.items() if key in self._last)
        kept = 1.0 if had <= 0 else min(1.0, max(0.0, (had - taken) / had))
        for spent in gone:
            mine = _sums(spent)
            waits = {"run_delay_s": mine.run_delay_s, "switches": mine.switches}
            left = _Sums(*(None if value is None else value * kept for value in mine))._replace(**waits)
            self._carried = self._carried.plus(left)
        return had - taken > TICK_S * (len(gone) + 1)

    def _busiest(self, alive: Mapping[Key, Spent], at_ns: int) -> float | None:
        if self._at_ns is None or at_ns <= self._at_ns:
            return None
        grown = []
        for key, spent in alive.items():
            before = self._last.get(key)
            if before is None and key[1] < self._began:
                continue
            threads = {} if before is None else before.threads
            grown += [
                t.ran_ns - threads[tid].ran_ns if tid in threads else t.ran_ns for tid, t in spent.threads.items()
            ]
        return min(1.0, max(grown) / (at_ns - self._at_ns)) if grown else None


def _sums(spent: Spent) -> _Sums:
    threads = spent.threads.values()
    return _Sums(
        user_s=spent.user_s,
        system_s=spent.system_s,
        run_delay_s=sum(t.waited_ns for t in threads) / NS_PER_S if threads else None,
        switches=float(sum(t.times for t in threads)) if threads else None,
        read_bytes=spent.read_bytes,
        written_bytes=spent.written_bytes,
    )
