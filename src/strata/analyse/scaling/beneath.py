"""The layer below as one station: what it gives to so many I/Os inside it is its own measured curve.

A layer that lets at most W I/Os through at once (queues of a controller, requests of a connection) is as fast as the
layer below with W inside, and no faster whatever is in flight above. W follows from Little's law at the layer's limit:
the I/Os that are below then, and those on the way. So much more of the queues is so many times W. Where both layers
have the same block devices below them, the requests under way there tell W without that law, also while something else
limits.

* Behind k times the members the same curve serves k times the load: X′(N) = k·X(N ÷ k), as each member then has N ÷ k.
  Random I/Os do not come in equal parts: `strata.analyse.scaling.members`.

Source: Chandy, Herzog and Woo, Parametric analysis of queuing networks, IBM Journal of Research and Development 19
(1975), for the station that stands for a part of the network.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from strata.analyse.scaling.least import Curve
from strata.analyse.scaling.network import Network, QueueStation
from strata.analyse.series.longrun import Floats

SAME = 0.95
"""Of the most of the layer below, from which on its limit is the layer's own."""
LEVEL, OUTSIDE = 0.15, 1.3
"""How far the requests under way at the last loads lie apart at most, and times that the load is more than they are."""
GRID, STEPS = (0.05, 4096.0), 600
"""Loads at which the curve below is worked out, and how many of them."""


@dataclass(frozen=True)
class Beneath:
    """``curve`` of the layer below; ``extra``: seconds that the layer itself adds to an I/O that waits for nobody.

    ``members``: times as many as were measured.
    """

    curve: Curve
    extra: float
    members: float = 1.0

    @classmethod
    def of(cls, top: Curve, below: Curve) -> Beneath:
        """From the two curves; a layer that was measured faster than the one below adds nothing."""
        return cls(below, max(0.0, 1 / top.first - 1 / below.first))

    @cached_property
    def _grid(self) -> tuple[Floats, Floats]:
        """(I/Os of this layer, their rate): those below and those on the way; as far as more of them are faster."""
        low, high = GRID
        loads = np.geomspace(low, high, STEPS) * self.members
        if (at := self.curve.most_at) is not None:
            loads = loads[loads < at * self.members]
        rates = self.members * self.curve.rates(loads / self.members)
        return loads + rates * self.extra, rates

    def inside(self, rate: float) -> float:
        """I/Os of this layer while ``rate`` of them are done a second."""
        loads, rates = self._grid
        return float(np.interp(rate, rates, loads))

    def rate(self, load: float) -> float:
        """I/Os per second with so many in this layer and nothing else in the way."""
        loads, rates = self._grid
        return float(np.interp(load, loads, rates))

    def around(self, below: float) -> float:
        """I/Os of this layer while so many of them are below."""
        return below + self.extra * self.members * self.curve.rate(below / self.members)


@dataclass(frozen=True)
class UnderWay:
    """Requests under way at the block devices that two layers share, at each load of both, smallest first."""

    top: tuple[tuple[float, float], ...]
    below: tuple[tuple[float, float], ...]

    def window(self) -> float | None:
        """I/Os of the upper layer that are below at the most: as many as the lower one had when its devices had as many
        requests. None where their number still grows with the load, or is no less than it."""
        loads, held = (np.array(column) for column in zip(*self.below, strict=True))
        inside = [(n, float(np.interp(q, np.maximum.accumulate(held), loads))) for n, q in self.top]
        last = inside[-1][0]
        late = [(n, q) for n, q in inside if n >= last / 2]
        mean = float(np.mean([q for _, q in late]))
        if len(late) < 2 or any(abs(q / mean - 1) > LEVEL or n < OUTSIDE * q for n, q in late[1:]):
            return None
        return mean if abs(late[0][1] / mean - 1) <= LEVEL else None


def windowed(top: Curve, below: Curve) -> bool:
    """Whether the layer's limit is its own and not that of the layer below."""
    return top.most is not None and top.most < SAME * (below.most or math.inf)


def window_gain(top: Curve, below: Curve, load: float, queues: float = 1.0, members: float = 1.0) -> float:
    """The gain at ``load`` of ``queues`` times as many, and of as many times the members below."""
    now = Beneath.of(top, below)
    then = Beneath(now.curve, now.extra, members)
    if top.most is None or not windowed(top, below):
        return then.rate(load) / now.rate(load)
    inside = now.inside(top.most)
    return then.rate(min(load, queues * inside)) / now.rate(min(load, inside))


def dealt_window(load: float, inside: float, queues: int) -> float:
    """Of ``queues`` equal ones with ``inside`` together, how much is at work of ``load`` I/Os that are dealt in turn.

    The next one goes to the queue whose turn it is, also where another has room: a closed network of so many equal
    stations.
    """
    stations = tuple(QueueStation(str(i), 1 / queues, inside / queues) for i in range(queues))
    return min(inside, Network(stations).exact(max(1.0, load)))
