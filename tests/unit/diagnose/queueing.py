"""A small simulated path with a known limit: truth by construction, by events and not by the formulas under test.

Requests pass, in order: CPUs of the machine (m servers, a + b·bytes each), the wire there (one server, bytes ÷
rate), the layer's delay, a request budget (one token each 1/C), a lock (one server), the medium (c servers, lognormal
service; no more at once than there are threads, each of which is held a little longer), and leave. A closed loop of N
requests issues the next when one leaves.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field
from functools import cache


@dataclass(frozen=True)
class Path:
    """What limits a layer. Times in seconds, rates per second; 0 means: not there.

    ``reorder`` makes sequential writes that many times slower. ``burst``: bytes that pass the wire at once while it
    has carried less than its rate (a token bucket); it seeds nothing.
    """

    servers: int = 8
    service: float = 2e-3
    spread: float = 0.05
    per_byte: float = 0.0
    base: float = 0.0
    delay: float = 0.0
    wire: float = 0.0
    burst: int = field(default=0, repr=False)
    wire_writes_only: bool = False
    cap: float = 0.0
    lock: float = 0.0
    threads: int = 0
    held: float = 0.0
    cores: int = 2
    cpu: float = 5e-6
    cpu_per_byte: float = 0.0
    reorder: float = 1.0


class _Station:
    """``servers`` alike, first come first served; gives the time a request arriving at ``t`` leaves."""

    def __init__(self, servers: int) -> None:
        self.free = [0.0] * servers
        self.busy = 0.0

    def leave(self, t: float, service: float) -> float:
        at = heapq.heappop(self.free)
        done = max(at, t) + service
        heapq.heappush(self.free, done)
        self.busy += service
        return done


@cache
def run(path: Path, n: int, size: int, writes: bool, sequential: bool) -> tuple[float, float, float]:
    """(IOPS, mean seconds, CPU busy share) of a closed loop of ``n`` requests of ``size`` bytes."""
    rng = random.Random(f"{path} {n} {size} {writes} {sequential}")
    at_once = min(path.servers, path.threads or path.servers)
    cores, wire, lock, medium = _Station(path.cores), _Station(1), _Station(1), _Station(at_once)
    tokens = budget = 0.0
    service = (path.service + path.per_byte * size) * (path.reorder if writes and sequential else 1.0)
    total = 400 + 60 * n
    # (time, stage, request, started)
    events: list[tuple[float, int, int, float]] = [(i * 1e-7, 0, i, i * 1e-7) for i in range(n)]
    heapq.heapify(events)
    finished, times = [], []
    while len(finished) < total:
        t, stage, who, started = heapq.heappop(events)
        if stage == 0:
            t = cores.leave(t, path.cpu + path.cpu_per_byte * size)
        elif stage == 1:
            wired = path.wire and (writes or not path.wire_writes_only)
            if wired and path.burst:
                budget = max(budget, t) + size / path.wire
                t = max(t, budget - path.burst / path.wire)
            elif wired:
                t = wire.leave(t, size / path.wire)
            t += path.delay + path.base
        elif stage == 2:
            if path.cap:
                tokens = max(tokens + 1 / path.cap, t)
                t = tokens
            t = lock.leave(t, path.lock) if path.lock else t
        elif stage == 3:
            t = medium.leave(t, service * rng.lognormvariate(0, path.spread) + path.held)
        else:
            finished.append(t)
            times.append(t - started)
            stage, started = -1, t
        heapq.heappush(events, (t, stage + 1, who, started))
    warm = total // 5
    span = finished[-1] - finished[warm]
    kept = times[warm + 1 :]
    return len(kept) / span, sum(kept) / len(kept), min(1.0, cores.busy / path.cores / finished[-1])
