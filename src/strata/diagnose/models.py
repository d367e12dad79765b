"""What each kind of limit would do to the layer below it: predictions of IOPS, as an interval, for one parameter.

The layer below is known by its own measurements (a flow-equivalent server: Chandy, Herzog, Woo 1975): X_B(n) at the
depths n that were measured, log-log between them, linear below the least. On top of it each model puts one thing.

* delay D (seconds for each request, in parallel): n + X_B(n)·D = N (Little's law over both parts); between two depths
  X_B may be as much as the line through the two before allows (concave: Dowdy, Eager, Gordon, Saxton 1984).
* serial s (one request at a time): X ≤ 1/s, and s is added to each request; between the asymptotic bound
  min(1/s, N/(R+s)) and one exponential station, exactly (Erlang's loss formula, of N customers and one that serves).
* bandwidth W: a serial station whose service time is bytes ÷ W.
* cap C (a budget per second that costs nothing while it lasts): X = min(C, X_B).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from strata.diagnose.view import Array, Point, View
from strata.model.workload import Workload

Interval = tuple[Array, Array]


class LimitKind(StrEnum):
    """What a limit looks like over block sizes and depths."""

    BANDWIDTH = "bandwidth"
    CAP = "cap"
    DELAY = "delay"
    SERIAL = "serial"


class LimitDirection(StrEnum):
    """The direction a limit holds in."""

    BOTH = "reads and writes"
    READS = "reads"
    WRITES = "writes"


Way = tuple[LimitDirection, float]
"""A scope, and the constant time in seconds beside the limit: what a model is fitted with, apart from its parameter."""


def share(workload: Workload, scope: LimitDirection) -> float:
    """The share of the I/Os a limit of this scope sees. Both: the larger direction (a wire is full duplex)."""
    reads = 1.0 if not workload.rw.writes else 0.0 if not workload.rw.reads else (workload.rwmixread or 0) / 100
    return {LimitDirection.BOTH: max(reads, 1 - reads), LimitDirection.READS: reads, LimitDirection.WRITES: 1 - reads}[
        scope
    ]


def with_delay(view: View, point: Point, delay: Array) -> Interval:
    """IOPS when each request takes ``delay`` seconds more outside the layer below."""
    low, high = _Rows(view, (point,)).with_delay(delay[None, :])
    return low[0], high[0]


def most_with_delay(view: View, point: Point, delay: float) -> float:
    """The most IOPS that a delay which is known, and not fitted, can leave."""
    return float(_Rows(view, (point,)).with_delay_alone(np.array([[delay]]))[1][0, 0])


def solve_profile(profile: tuple[tuple[int, float], ...], n: float, delay: Array) -> Array:
    """X with inside + X(inside)·delay = n, where X(·) is the measured profile (held flat beyond its last depth)."""
    tables = [table[None, :] for table in _tabled(profile, n, False)]
    return np.asarray(_solved(tables, np.array([[n]]), delay[None, :])[0])


def _solved(tables: Sequence[Array], n: Array, delay: Array) -> Array:
    """The same for many at once: tables of (row, depth), ``n`` of (row, 1), ``delay`` and answer of (row, value)."""
    inside, x, turn = tables
    last = inside.shape[1] - 1
    begin = (last + 1) * np.arange(len(n))[:, None]

    def at(depth: NDArray[np.intp]) -> tuple[Array, Array]:
        """The throughput at that number of the table, and how many are then outstanding in all."""
        here = x.take(begin + depth)
        return here, inside.take(begin + depth) + here * delay

    # How many depths stay below n. What the table says is rounded otherwise: the depths on both sides are looked at.
    near = np.array([row.searchsorted(-values) for row, values in zip(turn, delay, strict=True)])
    near = np.minimum(np.maximum(near, 1), last)
    below = near - 1 + (at(near - 1)[1] < n) + (at(near)[1] < n)
    upper = np.minimum(np.maximum(below, 1), last)
    (from_x, from_n), (to_x, to_n) = at(upper - 1), at(upper)
    part = (n - from_n) / np.maximum(to_n - from_n, 1e-300)
    return np.asarray(from_x + np.clip(part, 0, 1) * (to_x - from_x))


@lru_cache(maxsize=512)
def _tabled(profile: tuple[tuple[int, float], ...], n: float, most: bool) -> tuple[Array, Array, Array]:
    """The profile at 400 depths up to n: depth, throughput, and minus the delay with which n are then outstanding.

    Throughput over depth is concave (Dowdy, Eager, Gordon, Saxton 1984): between two depths it gives no more than the
    line through the two before it, and no more than at the deeper one.
    """
    depths = np.array([d for d, _ in profile], dtype=float)
    rates = np.maximum.accumulate([x for _, x in profile])
    inside = np.geomspace(min(depths[0], n) / 1000, n, 400)
    x = np.exp(np.interp(np.log(inside), np.log(depths), np.log(rates)))
    if most:
        slopes = np.diff(rates, prepend=0.0) / np.diff(depths, prepend=0.0)
        before = np.clip(np.searchsorted(depths, inside, side="right") - 1, 0, depths.size - 1)
        after = np.minimum(before + 1, depths.size - 1)
        line = np.minimum(rates[before] + slopes[before] * (inside - depths[before]), rates[after])
        x = np.maximum(x, line)
    x = np.where(inside < depths[0], inside / depths[0] * rates[0], x)
    return inside, x, (inside - n) / x


class _Rows:
    """Points of a view side by side: every figure is an array of (row, 1), every answer one of (row, value)."""

    def __init__(self, view: View, points: tuple[Point, ...]) -> None:
        def column(values: Iterable[float]) -> Array:
            return np.array([[float(v)] for v in values])

        self.keys = [p.key for p in points]
        self.shares = {scope: column(share(p.workload, scope) for p in points) for scope in LimitDirection}
        self.n, self.bs = column(p.n for p in points), column(p.bs for p in points)
        self.below, self.cycle = column(p.x_below for p in points), column(p.cycle_below for p in points)
        self.quickest = column(view.quickest(p) for p in points)
        self.at = column(p.ratio_log + np.log(p.x_below) for p in points)
        self.sd = column(np.hypot(p.sd, MODEL_SD) for p in points)
        profiles = [view.profile(p) for p in points]
        self.deep = np.array([len(profile) > 1 for profile in profiles])
        self._profiles = [(f, p.n) for f, p in zip(profiles, points, strict=True) if len(f) > 1]
        self.tables = self._tables(most=False)
        # The rows with the most I/Os outstanding first: those that a station's recursion is done with fall off the end.
        self.order = np.argsort(-self.n[:, 0], kind="stable")
        self.stages = [(n, sum(p.n >= n for p in points)) for n in sorted({p.n for p in points})]

    def _tables(self, *, most: bool) -> list[Array]:
        """What `_solved` needs: of the rows of several depths."""
        return [np.array(t) for t in zip(*(_tabled(f, n, most) for f, n in self._profiles), strict=True)]

    @cached_property
    def most(self) -> list[Array]:
        """The same with as much as the layer below may give between two depths."""
        return self._tables(most=True)

    def with_delay(self, delay: Array) -> Interval:
        """As `with_delay`, of every row."""
        low = self.n / (self.cycle + delay)
        high = np.maximum(low, np.minimum(self.below, self.n / (self.quickest + delay)))
        if self.tables:
            low[self.deep] = high[self.deep] = self._solved(self.tables, delay)
        return low, high

    def with_delay_alone(self, delay: Array) -> Interval:
        """The same where nothing else slows it: with the depth inside between two that were measured, the layer below
        may give more than the line between them says."""
        low, high = self.with_delay(delay)
        if self.tables:
            high[self.deep] = self._solved(self.most, delay)
        return low, high

    def _solved(self, tables: Sequence[Array], delay: Array) -> Array:
        """Of the rows of several depths."""
        d, values = self.deep, delay.shape[1]
        return _solved(tables, self.n[d], np.broadcast_to(delay, (len(d), values))[d])

    def with_station(self, service: Array, base: Array) -> Interval:
        """IOPS when each request also passes a station that serves one at a time for ``service`` seconds."""
        _, asymptote = self.with_delay(base + service)
        high = np.minimum(asymptote, 1 / np.maximum(service, 1e-12))
        think = self.cycle + base
        idle = think / self._erlang(service / think)
        return np.minimum(self.n / (self.n * service + idle), high), high

    def _erlang(self, ratio: Array) -> Array:
        """1 ÷ the probability that none of the n - 1 others, whom a request meets on its arrival, is at the station.

        ``ratio``: the time at the station ÷ that away from it. Too large for a figure is infinite: always busy.
        """
        ratio = ratio[self.order]
        found, done = np.ones_like(ratio), 0
        with np.errstate(over="ignore"):
            for depth, count in self.stages:
                value, part = found[:count], ratio[:count]
                for k in range(done + 1, depth):
                    value *= part
                    value *= k
                    value += 1
                done = depth - 1
        answer = np.empty_like(found)
        answer[self.order] = found
        return answer

    def predict(self, shape: LimitKind, ways: Sequence[Way], parameter: Array) -> Interval:
        """As `predict`, of every row: ``parameter`` is (way, value), the answer (row, way and value)."""
        values = parameter.shape[1]

        def each(of_ways: Array) -> Array:
            return np.repeat(of_ways, values, axis=1)

        part, one = np.hstack([self.shares[scope] for scope, _ in ways]), parameter.reshape(1, -1)
        unseen, bases = part == 0, np.array([[base for _, base in ways]])
        seen = each(np.where(unseen, 1.0, part))
        if shape is LimitKind.DELAY:
            low, high = self.with_delay_alone(one * seen + each(bases))
        elif shape is LimitKind.SERIAL:
            low, high = self.with_station(one * seen, each(bases))
        elif shape is LimitKind.BANDWIDTH:
            low, high = self.with_station(self.bs * seen / one, each(bases))
        else:
            # Here the parameter does not change the time: it is worked out once, and not for each value.
            low, high = (np.minimum(each(x), one / seen) for x in self.with_delay(bases))
        if unseen.any():
            here = each(unseen)
            low, high = (
                np.where(here, each(free), x) for free, x in zip(self.with_delay(bases), (low, high), strict=True)
            )
        return low, high

    def misfit(self, low: Array, high: Array) -> Array:
        """How far the measured IOPS lie outside low..high, signed, in standard errors."""
        outside = np.maximum(np.log(low) - self.at, 0) - np.maximum(self.at - np.log(high), 0)
        return np.asarray(outside / self.sd)

    def score(self, low: Array, high: Array) -> Array:
        """The sum of the rows' bounded misfits, in their order."""
        return np.asarray(sum(bounded(self.misfit(low, high)), start=np.zeros(low.shape[1])))

    @cached_property
    def none(self) -> float:
        """The score of no limit at all."""
        return float(self.score(*self.with_delay(np.zeros((1, 1))))[0])


def predict(
    view: View, point: Point, shape: LimitKind, scope: LimitDirection, *, parameter: Array, base: float
) -> Interval:
    """IOPS (lowest, highest) at this point for each value of the model's parameter.

    The parameter is bytes/s, I/Os per second or seconds. ``base`` seconds are added to every request.
    """
    low, high = _Rows(view, (point,)).predict(shape, [(scope, base)], parameter[None, :])
    return low[0], high[0]


@dataclass(frozen=True)
class Fit:
    """The best parameter of one model. ``score`` is a sum of bounded squared residuals in standard errors,
    ``explained`` the part of the unmodelled one (layer = below) that is gone, ``binding`` the keys of the cells
    where the model takes away at least a tenth.
    """

    shape: LimitKind
    scope: LimitDirection
    parameter: float
    base: float
    score: float
    penalty: float
    explained: float
    per_point: float
    binding: frozenset[str]
    residual: dict[str, float]
    times: int = 1
    """How often a request may need the constant time of a delay, with others under way: once is certain."""

    @property
    def total(self) -> float:
        """What models are ranked by: lower is better."""
        return self.score + self.penalty


def own_part(view: View, points: Iterable[Point], found: Fit) -> float:
    """0..1 of what a fit takes away in these points that is its limit's own, and not the constant time's beside it.

    All of it where both are a time that each request costs.
    """
    if found.base <= 0 or found.shape in (LimitKind.DELAY, LimitKind.SERIAL):
        return 1.0
    one, constant = np.array([found.parameter]), np.array([found.base])
    whole, mine = 0.0, 0.0
    for p in points:
        _, high = predict(view, p, found.shape, found.scope, parameter=one, base=found.base)
        _, alone = with_delay(view, p, constant)
        both = max(0.0, float(np.log(p.x_below / high[0])))
        whole += both
        # The most that a constant time alone leaves can be more than was measured of the layer below.
        mine += min(both, max(0.0, float(np.log(alone[0] / high[0]))))
    return mine / whole if whole > 0 else 0.0


MODEL_SD = 0.05
"""What the models themselves are off by: measured on simulated queues that are not of their form."""
PENALTY_SCOPE, PENALTY_BASE = 3.0, 4.0
NO_TIME = 2e-6
"""Seconds for each request below which nothing is added to it."""


def bounded(z: Array) -> Array:
    """Huber's loss: z² within three standard errors, growing linearly beyond."""
    a = np.abs(z)
    return np.asarray(np.where(a <= 3, a * a, 6 * a - 9))


def _grid(view: View, shape: LimitKind) -> Array:
    rates = [p.x for p in view.points]
    if shape is LimitKind.BANDWIDTH:
        values = [p.x * p.bs for p in view.points]
    elif shape is LimitKind.CAP:
        values = rates
    elif shape is LimitKind.SERIAL:
        values = [1 / x for x in rates]
    else:
        values = [max(p.added, 1e-6) for p in view.points]
    return np.geomspace(min(values) * 0.6, max(values) * 1.6, 90)


def fit(view: View, shape: LimitKind, scope: LimitDirection, base: float = 0.0) -> Fit:
    """The best parameter of one model over the view's points."""
    return _best(view, _Rows(view, view.points), shape, [(scope, base)])


def _best(view: View, rows: _Rows, shape: LimitKind, ways: Sequence[Way]) -> Fit:
    """The best fit of one shape. All ways are searched side by side: rows are few, and a call costs more than they."""
    parameters = _minima(
        lambda grids: rows.score(*rows.predict(shape, ways, grids)).reshape(grids.shape),
        np.tile(_grid(view, shape), (len(ways), 1)),
    )
    lows, highs = rows.predict(shape, ways, parameters)
    penalties = [PENALTY_SCOPE * (scope is not LimitDirection.BOTH) + PENALTY_BASE * (base > 0) for scope, base in ways]
    scores = rows.score(lows, highs)
    best = int(np.argmin(scores + penalties))
    (scope, base), value, none = ways[best], float(scores[best]), rows.none
    low, high = lows[:, best : best + 1], highs[:, best : best + 1]
    binds = (high < 0.9 * rows.below) & (rows.shares[scope] > 0)
    return Fit(
        shape=shape,
        scope=scope,
        parameter=float(parameters[best, 0]),
        base=base,
        score=value,
        penalty=penalties[best],
        explained=max(0.0, 1 - value / none) if none > 0 else 0.0,
        per_point=value / len(view.points),
        binding=frozenset(key for key, here in zip(rows.keys, binds[:, 0], strict=True) if here),
        residual={key: float(z) for key, z in zip(rows.keys, rows.misfit(low, high)[:, 0], strict=True)},
    )


def _minima(scored: Callable[[Array], Array], grids: Array) -> Array:
    """Where each row of ``grids`` scores least, looked at twice more between its neighbours: an array of (row, 1)."""
    row = np.arange(len(grids))
    for _ in range(2):
        at = np.argmin(scored(grids), axis=1)
        ends = grids[row, np.maximum(at - 1, 0)], grids[row, np.minimum(at + 1, grids.shape[1] - 1)]
        grids = np.geomspace(*ends, 25, axis=1)
    return np.asarray(grids[row, np.argmin(scored(grids), axis=1)])[:, None]


def _bases(view: View) -> tuple[float, ...]:
    """Constant times, in seconds, that may be added to every request beside another limit: two effects at once.

    The least that any cell gained, and parts of what the shallowest did: what waits there waits for nobody else.
    """
    least = min((p.added for p in view.points), default=0.0)
    shallow = min((p.n for p in view.points), default=0)
    most = max((p.added for p in view.points if p.n == shallow), default=0.0)
    return tuple(b for b in (least, *(part * most for part in (0.4, 0.6, 0.8, 1.0))) if b > NO_TIME)


def fit_all(view: View) -> tuple[Fit, ...]:
    """The best fit of every shape (over scopes and a constant base cost), the best shape first."""
    reads = any(p.workload.rw.reads for p in view.points)
    writes = any(p.workload.rw.writes for p in view.points)
    scopes = (
        [LimitDirection.BOTH, LimitDirection.READS, LimitDirection.WRITES]
        if reads and writes
        else [LimitDirection.BOTH]
    )
    bases, rows = [0.0, *_bases(view)], _Rows(view, view.points)
    ways = [(scope, base) for scope in scopes for base in bases]
    constant = [(scope, 0.0) for scope in scopes]
    found = [_best(view, rows, shape, constant if shape is LimitKind.DELAY else ways) for shape in LimitKind]
    return tuple(sorted(found, key=lambda f: f.total))
