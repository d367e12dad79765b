"""The two clocks: whether the wall clock ran beside the monotonic one or was set.

Reads    CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME.
Makes    ``clock_offset_seconds{clock=realtime|boottime}`` (s, gauge): how far that clock moved against the monotonic
         one since it was opened. A jump in ``realtime`` is a step; in ``boottime`` the machine slept meanwhile.
Costs    45 µs per sample.
Needs    nothing.
Blind to a step back and forth between two samples; a slow slew is seen as what it is, a slope.
"""

from __future__ import annotations

import time

from strata.model.counters import clock
from strata.probes.port import Probe, ProbeScope, TableProbe, Told
from strata.units import NS_PER_S

_CLOCKS = {clock.REALTIME: time.CLOCK_REALTIME, clock.BOOTTIME: time.CLOCK_BOOTTIME}


class ClockProbe(TableProbe):
    def __init__(self, live: bool) -> None:
        super().__init__()
        # A recorded tree has no clocks.
        self._began = {name: _offset(number) for name, number in _CLOCKS.items()} if live else {}
        self.begin()

    def told(self) -> Told:
        return {
            (clock.OFFSET, (name,)): (_offset(_CLOCKS[name]) - began) / NS_PER_S for name, began in self._began.items()
        }


def _offset(number: int) -> int:
    """Bracketed: an interruption between the readings would look like a step. The tightest of three."""
    found = []
    for _ in range(3):
        before = time.monotonic_ns()
        there = time.clock_gettime_ns(number)
        after = time.monotonic_ns()
        found.append((after - before, there - (before + after) // 2))
    return min(found)[1]


def open_probe(scope: ProbeScope) -> Probe:
    """Of this machine."""
    return ClockProbe(scope.sys.live)
