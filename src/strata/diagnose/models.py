"""What each kind of limit would do to the layer below it: predictions of IOPS, as an interval, for one parameter.

The layer below is known by its own measurements (a flow-equivalent server: Chandy, Herzog, Woo 1975): X_B(n) at the
depths n that were measured, log-log between them, linear below the least. On top of it each model puts one thing.

* delay D (seconds for each request, in parallel): n + X_B(n)·D = N (Little's law over both parts).
* serial s (one request at a time): X ≤ 1/s, and s is added to each request; between the asymptotic bound
  min(1/s, N/(R+s)) and exact mean value analysis of one exponential station (Reiser, Lavenberg 1980).
* bandwidth W: a serial station whose service time is bytes ÷ W.
* cap C (a budget per second that costs nothing while it lasts): X = min(C, X_B).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np

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


def share(workload: Workload, scope: LimitDirection) -> float:
    """The share of the I/Os a limit of this scope sees. Both: the larger direction (a wire is full duplex)."""
    reads = 1.0 if not workload.rw.writes else 0.0 if not workload.rw.reads else (workload.rwmixread or 0) / 100
    return {LimitDirection.BOTH: max(reads, 1 - reads), LimitDirection.READS: reads, LimitDirection.WRITES: 1 - reads}[
        scope
    ]


def with_delay(view: View, point: Point, delay: Array) -> Interval:
    """IOPS when each request takes ``delay`` seconds more outside the layer below."""
    profile = view.profile(point)
    if len(profile) == 1:
        low = point.n / (point.cycle_below + delay)
        high = np.minimum(point.x_below, point.n / (view.quickest(point) + delay))
        return low, np.maximum(low, high)
    x = solve_profile(profile, point.n, delay)
    return x, x


def most_with_delay(view: View, point: Point, delay: float) -> float:
    """The most IOPS that a delay which is known, and not fitted, can leave."""
    one, profile = np.array([delay]), view.profile(point)
    found = with_delay(view, point, one)[1] if len(profile) == 1 else solve_profile(profile, point.n, one, most=True)
    return float(found[0])


def solve_profile(profile: tuple[tuple[int, float], ...], n: float, delay: Array, *, most: bool = False) -> Array:
    """X with inside + X(inside)·delay = n, where X(·) is the measured profile (held flat beyond its last depth).

    ``most``: where the depth inside lies between two that were measured, as much as it may give there.
    """
    inside, x = _tabled(profile, n, most)
    reached = inside[:, None] + x[:, None] * delay[None, :]
    upper = np.clip(np.sum(reached < n, axis=0), 1, inside.size - 1)
    lower, at = upper - 1, np.arange(delay.size)
    part = (n - reached[lower, at]) / np.maximum(reached[upper, at] - reached[lower, at], 1e-300)
    return np.asarray(x[lower] + np.clip(part, 0, 1) * (x[upper] - x[lower]))


@lru_cache(maxsize=512)
def _tabled(profile: tuple[tuple[int, float], ...], n: float, most: bool) -> tuple[Array, Array]:
    """The profile at 400 depths up to n. A fit asks for the same few profiles thousands of times.

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
    return inside, np.where(inside < depths[0], inside / depths[0] * rates[0], x)


def with_station(view: View, point: Point, service: Array, base: float) -> Interval:
    """IOPS when each request also passes a station that serves one at a time for ``service`` seconds."""
    _, asymptote = with_delay(view, point, base + service)
    high = np.minimum(asymptote, 1 / np.maximum(service, 1e-12))
    think = point.cycle_below + base
    queue = np.zeros_like(service)
    low = np.zeros_like(service)
    for k in range(1, point.n + 1):
        waiting = service * (1 + queue)
        low = k / (think + waiting)
        queue = low * waiting
    return np.minimum(low, high), high


def predict(
    view: View, point: Point, shape: LimitKind, scope: LimitDirection, *, parameter: Array, base: float
) -> Interval:
    """IOPS (lowest, highest) at this point for each value of the model's parameter.

    The parameter is bytes/s, I/Os per second or seconds. ``base`` seconds are added to every request.
    """
    part = share(point.workload, scope)
    if part > 0 and shape is LimitKind.DELAY:
        return with_delay(view, point, parameter * part + base)
    if part > 0 and shape is LimitKind.SERIAL:
        return with_station(view, point, parameter * part, base)
    if part > 0 and shape is LimitKind.BANDWIDTH:
        return with_station(view, point, point.bs * part / parameter, base)
    # Here the parameter does not change the time: it is worked out once, and not for each value.
    low, high = (np.full_like(parameter, x[0]) for x in with_delay(view, point, np.array([base])))
    if part == 0:
        return low, high
    return np.minimum(low, parameter / part), np.minimum(high, parameter / part)


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
    """0..1 of what a fit takes away in these points that is its limit's own, and not the constant time's beside it."""
    if found.base <= 0:
        return 1.0
    one, constant = np.array([found.parameter]), np.array([found.base])
    whole, mine = 0.0, 0.0
    for p in points:
        _, high = predict(view, p, found.shape, found.scope, parameter=one, base=found.base)
        _, alone = with_delay(view, p, constant)
        whole += max(0.0, float(np.log(p.x_below / high[0])))
        mine += max(0.0, float(np.log(alone[0] / high[0])))
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


def misfit(point: Point, low: Array, high: Array) -> Array:
    """How far the measured IOPS lie outside low..high, signed, in standard errors."""
    at = point.ratio_log + np.log(point.x_below)
    outside = np.maximum(np.log(low) - at, 0) - np.maximum(at - np.log(high), 0)
    return np.asarray(outside / np.hypot(point.sd, MODEL_SD))


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
    zero = np.zeros(1)
    none = sum(float(bounded(misfit(p, *with_delay(view, p, zero)))[0]) for p in view.points)

    def score(grid: Array) -> Array:
        total = np.zeros_like(grid)
        for p in view.points:
            total += bounded(misfit(p, *predict(view, p, shape, scope, parameter=grid, base=base)))
        return total

    best = _minimum(score, _grid(view, shape))
    one = np.array([best])
    binding, residual = set(), {}
    for p in view.points:
        low, high = predict(view, p, shape, scope, parameter=one, base=base)
        residual[p.key] = float(misfit(p, low, high)[0])
        if high[0] < 0.9 * p.x_below and share(p.workload, scope) > 0:
            binding.add(p.key)
    value = float(score(one)[0])
    return Fit(
        shape=shape,
        scope=scope,
        parameter=best,
        base=base,
        score=value,
        penalty=PENALTY_SCOPE * (scope is not LimitDirection.BOTH) + PENALTY_BASE * (base > 0),
        explained=max(0.0, 1 - value / none) if none > 0 else 0.0,
        per_point=value / len(view.points),
        binding=frozenset(binding),
        residual=residual,
    )


def _minimum(score: Callable[[Array], Array], grid: Array) -> float:
    for _ in range(2):
        at = int(np.argmin(score(grid)))
        grid = np.geomspace(grid[max(at - 1, 0)], grid[min(at + 1, grid.size - 1)], 25)
    return float(grid[int(np.argmin(score(grid)))])


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
    bases = [0.0, *_bases(view)]
    found = []
    for shape in LimitKind:
        tried = [fit(view, shape, s, b) for s in scopes for b in (bases if shape is not LimitKind.DELAY else [0.0])]
        found.append(min(tried, key=lambda f: f.total))
    return tuple(sorted(found, key=lambda f: f.total))
