"""What a change would bring: one more core, twice the limit, half the time on the wire, another load.

The curve that was measured is kept, and its two ends are moved as the network of measured demands moves them: the rate
of one I/O alone (1 ÷ all demands) and the most that the fullest resource gives. Where the exponential network draws the
measured points too (within `DRAWS_IT`), its gain is in the interval as well: the points do not tell which one it is.

A prediction rests on demands at one load, which a resource that gets cheaper or dearer under load does not keep. What
no counter told has no station; relieving the fullest one may show another that nobody measured, so that the gain is the
most there is. Both are said with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from strata.analyse.scaling.beneath import windowed
from strata.analyse.scaling.busy import FULL
from strata.analyse.scaling.fitted import Fitted
from strata.analyse.scaling.network import Network, QueueStation
from strata.analyse.scaling.plateau import Plateau
from strata.model.estimate import Estimate

LIMIT, DELAY, RTT = "limit", "delay", "rtt"
"""The station that no counter names, the time in which an I/O waits for nobody, and the round trip in it."""
BELOW = "the layer below"
DRAWS_IT = 0.10
NO_TIME = 1e-9
"""Seconds of an I/O at a limit that is a budget."""
MODEL = 0.08
"""Standard error of a prediction beside that of its inputs: what equal changes were off by (docs/journal)."""


@dataclass(frozen=True)
class Demand:
    """Seconds of one resource for each I/O, at one load. ``error``: their standard error as a share."""

    name: str
    seconds: float
    servers: float
    error: float = 0.0
    per_byte: float = 0.0
    """Of a card: bytes that it sends for each byte of the application."""
    full: bool = False
    """Whether it is used up at the load in question, whatever the curve says of other loads."""
    varies: float = 0.0
    """How much ``seconds`` differ from load to load, as a share: the standard deviation over all points."""

    def used(self, rate: float) -> float:
        """Share of the time it is at work."""
        return self.seconds * rate / self.servers


@dataclass(frozen=True)
class Demands:
    """What an I/O asks of each resource; ``apart`` are parts of the delay that have a name (``rtt``), in seconds."""

    each: tuple[Demand, ...] = ()
    apart: Mapping[str, float] = field(default_factory=dict)

    def named(self, name: str) -> tuple[Demand, ...]:
        """That of the name; else all of its kind: ``cards`` and ``card`` are every ``card@…``."""
        exact = tuple(d for d in self.each if d.name == name)
        return exact or tuple(d for d in self.each if d.name.partition("@")[0] == name.removesuffix("s"))


@dataclass(frozen=True)
class ChangeGain:
    """``rate`` at ``load`` after the change, ``now`` before it; ``gain`` is their ratio. ``full``: what then is."""

    load: float
    now: Estimate
    rate: Estimate
    gain: Estimate
    full: str | None
    beyond: bool
    """Whether it lies where nothing was measured: the network's limit moved past what was seen."""


def network_of(
    fitted: Fitted, demands: Demands, *, budget: bool = False, below: float | None = None
) -> Network:  # fmt: skip
    """The stations of the demands; where none of them is full at the most of the curve, one more that is.

    ``below``: I/Os per second of the layer below, where that is not what limits now. ``budget``: that one takes no
    time of an I/O while it lasts (a cap on I/Os per second, one server of many); otherwise each I/O passes it (one at
    a time). A curve alone does not tell which of both it is.
    """
    most = fitted.curve.most or fitted.curve.rate(fitted.most_load)
    alone = 1 / fitted.curve.first
    stations = [QueueStation(d.name, d.seconds, d.servers) for d in demands.each]
    rest = alone - sum(s.demand for s in stations)
    if not any(d.full or d.used(most) >= FULL for d in demands.each):
        takes = NO_TIME if budget else min(1 / most, max(rest, NO_TIME))
        stations.append(QueueStation(LIMIT, takes, most * takes))
        rest -= takes
    if below is not None and below > most:
        stations.append(QueueStation(BELOW, NO_TIME, below * NO_TIME))
    return Network(tuple(stations), max(0.0, rest))


def changed(network: Network, name: str, factor: float, demands: Demands) -> Network:
    """With so many times as much of a resource: servers of a station, seconds of a delay. Raises `KeyError`."""
    if name == DELAY:
        return replace(network, delay=network.delay * factor)
    if name in demands.apart:
        return replace(network, delay=max(0.0, network.delay + demands.apart[name] * (factor - 1)))
    meant = {name, *(d.name for d in demands.named(name))}
    if meant.isdisjoint(s.name for s in network.stations):
        raise KeyError(name)
    stations = tuple(_more(s, factor) if s.name in meant else s for s in network.stations)
    return replace(network, stations=stations)


def _more(s: QueueStation, factor: float) -> QueueStation:
    """Of a limit that is passed one at a time, more of it is a faster one; of all others more is more servers."""
    if s.name == LIMIT and s.demand > NO_TIME:
        return replace(s, demand=s.demand / factor)
    return replace(s, servers=s.servers * factor)


def at_load(fitted: Fitted, load: float, now: float) -> ChangeGain:
    """Another load, on the curve."""
    rate, before = fitted.at(load), fitted.at(now)
    gain = fitted.over(lambda c: c.rate(load) / c.rate(now), "ratio")
    assert gain is not None, "a curve has a rate everywhere"
    return ChangeGain(load, before, wider(rate), wider(gain), None, load > fitted.most_load)


def with_change(
    fitted: Fitted, demands: Demands, name: str, factor: float, load: float, *, below: Fitted | None = None,
    budgets: Sequence[bool] = (False, True), seed: int = 1,
) -> ChangeGain:  # fmt: skip
    """So many times as much of one resource, at ``load``. ``below``: the curve of the layer below, which bounds it.
    ``budgets``: what the limit that no counter names may be. Raises `KeyError` for a name that has no demand."""
    return told(fitted, load, *_both(fitted, demands, lambda _: demands, name, factor, load, below, budgets, seed))


def with_demands(
    fitted: Fitted, demands: Demands, after: Callable[[Demands], Demands], load: float, *, below: Fitted | None = None,
    seed: int = 1,
) -> ChangeGain:  # fmt: skip
    """With I/Os that ask something else of the resources than they did."""
    return told(fitted, load, *_both(fitted, demands, after, DELAY, 1.0, load, below, (False, True), seed))


def _both(
    fitted: Fitted, demands: Demands, other: Callable[[Demands], Demands], name: str, factor: float, load: float,
    below: Fitted | None, budgets: Sequence[bool], seed: int,
) -> tuple[list[float], list[float], Network, bool]:  # fmt: skip
    """(gains, what else the points leave open, the network afterwards, whether it lies beyond what was seen)."""
    rng = np.random.default_rng(seed)
    gains, open_, after = [], [], None
    most = fitted.curve.most or math.inf
    under = _under(fitted, below)
    for budget in budgets:
        before = network_of(fitted, demands, budget=budget, below=under)
        after = _after(before, demands, other, name, factor)
        gains.append(_moved(fitted, before, after, load))
        if _draws(fitted, before):
            open_.append(after.exact(load) / before.exact(load))
    found = []
    for i, curve in enumerate(fitted.draws):
        each = tuple(replace(d, seconds=d.seconds * math.exp(d.error * rng.standard_normal())) for d in demands.each)
        one, drawn = replace(fitted, curve=curve), replace(demands, each=each)
        before = network_of(one, drawn, budget=budgets[i % len(budgets)], below=under)
        try:
            found.append(_moved(one, before, _after(before, drawn, other, name, factor), load))
        except KeyError:
            # In this draw another resource is full, and what was asked for is not there.
            continue
    assert after is not None, "one was asked at least"
    ends = [float(q) for q in np.quantile(found, [0.025, 0.975])] if found else []
    return gains, [*open_, *ends], after, after.most > 1.05 * most


def _after(
    before: Network, demands: Demands, other: Callable[[Demands], Demands], name: str, factor: float
) -> Network:  # fmt: skip
    then = {d.name: d.seconds for d in other(demands).each}
    stations = tuple(replace(s, demand=then.get(s.name, s.demand)) for s in before.stations)
    return changed(replace(before, stations=stations), name, factor, demands)


def _under(fitted: Fitted, below: Fitted | None) -> float | None:
    if below is None or below.curve.most is None or not windowed(fitted.curve, below.curve):
        return None
    return below.curve.most


def told(
    fitted: Fitted, load: float, gains: Sequence[float], open_: Sequence[float], after: Network | None = None,
    beyond: bool = True,
) -> ChangeGain:  # fmt: skip
    """The gain between ``gains``, with all that is left open in its interval."""
    value = math.exp(sum(map(math.log, gains)) / len(gains))
    ends = [*gains, *open_]
    gain = wider(Estimate(value=value, low=min(ends), high=max(ends), n=len(fitted.points), unit="ratio"))
    now = fitted.at(load)
    assert gain.low is not None and gain.high is not None
    rate = Estimate(
        value=now.value * value, low=now.value * gain.low, high=now.value * gain.high, n=gain.n, unit="IOPS"
    )
    return ChangeGain(load, now, rate, gain, None if after is None else after.fullest, beyond)


def _moved(fitted: Fitted, before: Network, after: Network, load: float) -> float:
    """The gain of the curve with both ends moved."""
    c = fitted.curve
    steep, high = before.alone / after.alone, after.most / before.most
    if isinstance(c, Plateau):
        moved = Plateau(c.alone * steep, c.limit * high, c.sharpness)
        return moved.rate(load) / c.rate(load)
    # The same curve at the load that lies as far from its knee as this one does from the moved one.
    return high * c.rate(load * steep / high) / c.rate(load)


def _draws(fitted: Fitted, network: Network) -> bool:
    off = [network.exact(p.load) / p.rate - 1 for p in fitted.points]
    return float(np.sqrt(np.mean(np.square(off)))) <= DRAWS_IT


def wider(e: Estimate) -> Estimate:
    """The estimate with what the model itself is off by."""
    more = 1.96 * MODEL
    low, high = (abs(math.log(end / e.value)) if end is not None and end > 0 else 0.0 for end in (e.low, e.high))
    return e.model_copy(
        update={
            "low": e.value * math.exp(-math.hypot(low, more)),
            "high": e.value * math.exp(math.hypot(high, more)),
        }
    )
