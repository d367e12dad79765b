"""Block devices that stand still: requests are under way and none is completed.

Reads    /sys/class/block/<device>/stat, 50 times a second, whatever the pace of the other probes is; 10 times while all
         of them have been idle for 0.2 s.
Makes    with ``{device=…}``: ``blockdev_stalls`` (times, counter) and ``blockdev_stalled_seconds`` (s, counter): how
         often, and how long in all, requests were under way for 35 ms or more and nothing was completed.
Costs    105 µs per sample with 1 device, most of it for waking up; 10 µs for each device more: 0.5 % of a core, and
         0.1 % while they are idle.
Needs    nothing.
Blind to stalls shorter than 35 ms and some of those up to 60; up to 20 ms at either end of each, and up to 100 ms at
         the beginning of one that the first request for 0.2 s meets; what waits above the block layer. A device that
         takes longer for each request, one at a time, stands still by this measure: hold it against the time of a
         request.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from strata.host.block import BASE
from strata.model.counters import blockdev
from strata.probes.port import Column, PersistentFile, Probe, ProbeScope

EVERY_S = 0.02
LEAST_S = 0.035
IDLE_LOOKS = 10
"""At which no device had completed anything or had a request under way, before it is looked more rarely."""
DEVICES_MOST = 64
"""Read 50 times a second, as many take 3 % of a core."""
_DONE, _IN_FLIGHT = (0, 4, 11, 15), 8  # places in the line


@dataclass
class _Device:
    """``still_s``: how long nothing has been completed by now; ``done`` and ``waiting`` as they were last seen."""

    file: PersistentFile
    at_s: float = 0.0
    done: int = -1
    waiting: bool = False
    still_s: float = 0.0
    stalls: int = 0
    stalled_s: float = 0.0

    def look(self, line: Sequence[bytes], now_s: float) -> bool:
        """Whether anything moves: something was completed, or a request is under way."""
        done = sum(int(line[at]) for at in _DONE if at < len(line))
        waiting = int(line[_IN_FLIGHT]) > 0
        if self.waiting and waiting and done == self.done:
            before, self.still_s = self.still_s, self.still_s + now_s - self.at_s
            if before >= LEAST_S:
                self.stalled_s += now_s - self.at_s
            elif self.still_s >= LEAST_S:
                self.stalls += 1
                self.stalled_s += self.still_s
        else:
            self.still_s = 0.0
        moved = waiting or done != self.done
        self.at_s, self.done, self.waiting = now_s, done, waiting
        return moved


class StallsProbe(Probe):
    """Of ``scope.devices``: names as in /sys/class/block (``vda``) or their nodes (``/dev/vda``)."""

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        files = {name: self.keep(f"{BASE}/{name}/stat", scope) for name in scope.device_names[:DEVICES_MOST]}
        if more := len(scope.device_names) - len(files):
            self.absent = (f"stalls of {more} more devices, because at most {DEVICES_MOST} are read this often",)
        self._devices = {n: _Device(f) for n, f in files.items() if len(f.read().split()) > _IN_FLIGHT}
        self._still = 0
        self.columns = tuple(
            Column(counter, {"device": name})
            for name in self._devices
            for counter in (blockdev.STALLS, blockdev.STALLED_SECONDS)
        )

    def read(self) -> Sequence[float | None]:
        values: list[float | None] = []
        self._still += 1
        for device in self._devices.values():
            line = device.file.read().split()
            if len(line) <= _IN_FLIGHT:
                values += [None, None]
                continue
            if device.look(line, time.monotonic()):
                self._still = 0
            values += [device.stalls, device.stalled_s]
        self.idle = self._still >= IDLE_LOOKS
        return values


open_probe = StallsProbe
