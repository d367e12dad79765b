"""A closed network of queues: how many I/Os per second N in flight give, from what each I/O asks of each resource.

A station has ``servers`` that each serve one I/O at a time for ``demand`` seconds; ``delay`` is the time of an I/O in
which it waits for nobody (a wire's latency, a modelled service time). Two answers, between which a real network lies
where nothing is shared in batches:

* `Network.exact`: exponential service, all orders of arrival alike (product form), by the convolution algorithm. It is
  done on logarithms; the recursion over queue lengths loses all digits near saturation.
* `Network.bound`: no I/O ever waits behind another one before a station is full: min(N ÷ (ΣD + Z), m ÷ D).

Source: Buzen, Computational algorithms for closed queueing networks with exponential servers, CACM 16 (1973); Denning
and Buzen 1978 for the bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.series.longrun import Floats

DEEPEST = 1024
"""I/Os in flight up to which the exact answer is worked out; beyond, it is that of so many (the bound is near)."""


@dataclass(frozen=True)
class QueueStation:
    """``demand``: seconds of it for each I/O; ``servers``: how many of them at once."""

    name: str
    demand: float
    servers: float = 1.0

    @property
    def most(self) -> float:
        """I/Os per second when it is full."""
        return self.servers / self.demand if self.demand > 0 else math.inf


@dataclass(frozen=True)
class Network:
    """``delay`` in seconds."""

    stations: tuple[QueueStation, ...]
    delay: float = 0.0

    @property
    def alone(self) -> float:
        """Seconds of an I/O that meets no other."""
        return self.delay + sum(s.demand for s in self.stations)

    @property
    def most(self) -> float:
        """I/Os per second that the fullest station gives."""
        return min((s.most for s in self.stations), default=math.inf)

    @property
    def fullest(self) -> str | None:
        """The station that is full first; None without any."""
        return min(self.stations, key=lambda s: s.most).name if self.stations else None

    def bound(self, load: float) -> float:
        """No more I/Os per second than this."""
        return min(load / self.alone, self.most)

    def exact(self, load: float) -> float:
        """I/Os per second with exponential service; between two whole numbers of I/Os in flight on the line."""
        n = min(load, float(DEEPEST))
        low = math.floor(n)
        if low < 1:
            return self.bound(load)
        whole = _log_sums([_station(s, low + 1) for s in self.stations] + [_delay(self.delay, low + 1)])
        at = [math.exp(whole[k - 1] - whole[k]) for k in (low, low + 1)]
        return at[0] + (n - low) * (at[1] - at[0])


def _station(s: QueueStation, n: int) -> Floats:
    """ln of Dᵏ ÷ Π min(j, m), for k = 0..n."""
    k = np.arange(1, n + 1)
    steps = math.log(max(s.demand, 1e-300)) - np.log(np.minimum(k, max(s.servers, 1.0)))
    if s.servers < 1:
        # A part of one server is one that takes as much longer.
        steps = steps - math.log(s.servers)
    return np.concatenate([[0.0], np.cumsum(steps)])


def _delay(seconds: float, n: int) -> Floats:
    """ln of Zᵏ ÷ k!."""
    k = np.arange(1, n + 1)
    return np.concatenate([[0.0], np.cumsum(math.log(max(seconds, 1e-300)) - np.log(k))])


def _log_sums(terms: Sequence[Floats]) -> Floats:
    """The convolution of all of them, on logarithms."""
    whole = terms[0]
    for term in terms[1:]:
        whole = np.array([np.logaddexp.reduce(whole[: i + 1] + term[i::-1]) for i in range(len(whole))])
    return np.asarray(whole)
