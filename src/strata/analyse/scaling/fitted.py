"""Which curve a series of loads and rates lies on, with what its points leave open; or why it lies on neither.

Both curves have three parameters, so their sums of squares compare as they are. The universal scalability law is told
where it is as good; the plateau where it is clearly better. What neither draws within `MISFIT` (or what the points
themselves may be off) is refused: a knee that is read off a wrong curve is worse than none.

Intervals are those of a parametric bootstrap: every point is drawn again with what it may be off and with what the
curve does not explain, whose size is itself known from few points only (each draw takes it from its χ² distribution).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np

from strata.analyse.scaling.knee import knee, worth_doubling
from strata.analyse.scaling.least import Curve, LawCurve
from strata.analyse.scaling.plateau import Plateau, fit_plateau, fit_plateau_each
from strata.analyse.scaling.traced import Traced
from strata.analyse.scaling.usl import Usl, fit_usl, fit_usl_each
from strata.analyse.series.longrun import Floats
from strata.analyse.stats import LEVEL
from strata.model.estimate import Estimate

PARAMETERS = 3
LEAST_POINTS, LEAST_SPAN = 5, 4.0
"""Different loads, and times the largest is of the smallest: three parameters need two points more than they are."""
MISFIT = 0.05
"""Root mean square of the points around the curve, as a share, from which it is not told."""
CLEARLY = 2.0
"""Times the plateau's sum of squares from which the universal scalability law is worse."""
LEAST_ERROR = 0.01
"""What a point is taken to be off at least: no curve is exact, and one very narrow point must not decide alone."""
WILDEST = 1.0
"""Standard error of a point at most, of the logarithm of its rate: one that says less says nothing of the curve."""
DRAWS = 200
KEPT_FITS = 32
"""Curves that are kept: another question to the same points does not fit them again."""
REACH = 4.0
"""Times the largest load up to which a knee is looked for; beyond nothing was seen of the curve."""


class Form(StrEnum):
    """Which curve."""

    USL = "universal scalability law"
    PLATEAU = "plateau"


@dataclass(frozen=True)
class LoadPoint:
    """``error``: the standard error of the rate as a share of it; 0: not known."""

    load: float
    rate: float
    error: float = 0.0


@dataclass(frozen=True)
class Fitted:
    """``curve`` is the best one, ``draws`` the ones that the points leave open; ``rms`` as a share."""

    form: Form
    curve: Curve
    draws: tuple[Curve, ...]
    rms: float
    points: tuple[LoadPoint, ...]

    def traced(self) -> Fitted:
        """The same, with the curves bent towards the points (`Traced`): what is asked between them is nearer so."""
        return self if isinstance(self.curve, Traced) else _traced(self)

    @property
    def least_load(self) -> float:
        """The smallest load that was measured."""
        return self.points[0].load

    @property
    def most_load(self) -> float:
        """The largest load that was measured."""
        return self.points[-1].load

    def over(self, of: Callable[[Curve], float | None], unit: str) -> Estimate | None:
        """A figure of the curve with its interval. An end that more than its share of the draws does not have is None;
        None where the best curve has none."""
        value = of(self.curve)
        if value is None:
            return None
        return self._estimates(
            [value], np.array([[math.inf if (v := of(c)) is None else v] for c in self.draws]), unit
        )[0]

    def at(self, load: float, unit: str = "IOPS") -> Estimate:
        """The rate at a load."""
        return self.along(np.array([load]), unit)[0]

    def along(self, loads: Floats, unit: str = "IOPS") -> list[Estimate]:
        """The rate at each of the loads."""
        return self._estimates(self.curve.rates(loads).tolist(), np.array([c.rates(loads) for c in self.draws]), unit)

    def _estimates(self, values: list[float], draws: Floats, unit: str) -> list[Estimate]:
        """Of each column of what the draws give."""
        ends = np.quantile(draws, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=0, method="nearest")
        return [
            Estimate(
                value=value,
                low=min(value, low) if math.isfinite(low) else None,
                high=max(value, high) if math.isfinite(high) else None,
                n=len(self.points),
                unit=unit,
            )
            for value, low, high in zip(values, *ends.tolist(), strict=True)
        ]

    def limit(self, unit: str = "IOPS") -> Estimate | None:
        """X_max."""
        return self.over(lambda c: c.most, unit)

    def limit_at(self) -> Estimate | None:
        """N*: the load of the maximum, where it lies within reach of what was measured."""
        reach = REACH * self.most_load
        return self.over(lambda c: at if (at := c.most_at) is not None and at <= reach else None, "1")

    def knee(self) -> Estimate | None:
        """As `strata.analyse.scaling.knee.knee`."""
        return self.over(lambda c: knee(_law(c), self.least_load, REACH * self.most_load), "1")

    def worth_doubling(self, share: float) -> Estimate | None:
        """As `strata.analyse.scaling.knee.worth_doubling`."""
        return self.over(lambda c: worth_doubling(_law(c), share, self.least_load, REACH * self.most_load), "1")


@dataclass(frozen=True)
class NoCurve:
    """No curve is told. ``through``: the points themselves, which tell of the loads between them."""

    why: str
    through: Fitted | None = None


def fitted(points: Sequence[LoadPoint], *, seed: int = 1, draws: int = DRAWS) -> Fitted | NoCurve:
    """The curve of these points; loads may come in any order, each once."""
    series = tuple(sorted((p for p in points if p.rate > 0 and p.load > 0), key=lambda p: p.load))
    if refused := _too_little(series):
        return NoCurve(refused)
    return _through(series, seed, draws)


@lru_cache(maxsize=KEPT_FITS)
def _through(series: tuple[LoadPoint, ...], seed: int, draws: int) -> Fitted | NoCurve:
    n, x = (np.array([getattr(p, name) for p in series], dtype=float) for name in ("load", "rate"))
    own = np.array([p.error for p in series], dtype=float)
    errors = np.hypot(own, LEAST_ERROR) * x
    usl, plateau = fit_usl(n, x, errors), fit_plateau(n, x, errors)
    off = [_off(curve, n, x) for curve in (usl, plateau)]
    squares = [float(np.sum((o * x / errors) ** 2)) for o in off]
    form, left = Form.USL, off[0]
    curve: Curve = usl
    if squares[0] > CLEARLY * squares[1]:
        form, curve, left = Form.PLATEAU, plateau, off[1]
    rms = float(np.sqrt(np.mean(left**2)))
    if rms > max(MISFIT, 2.5 * float(np.median(own))):
        # No knee and no limit are read off it; a rate between two points is.
        near = Fitted(form, curve, (curve,) * draws, rms, series)
        return NoCurve(_neither(series, rms), near.traced())
    return Fitted(form, curve, _drawn(curve, n, own, left, draws, seed), rms, series)


def _traced(found: Fitted, seed: int = 1) -> Fitted:
    rng = np.random.default_rng(seed)
    n, x, own = (np.array([getattr(p, name) for p in found.points], dtype=float) for name in ("load", "rate", "error"))
    own = np.minimum(np.hypot(own, LEAST_ERROR), WILDEST)
    curve = Traced.through(found.curve, n, x, own)
    if all(c is found.curve for c in found.draws):
        draws = tuple(curve.moved(own * rng.standard_normal(len(n))) for _ in found.draws)
    else:
        draws = tuple(Traced(c, curve.loads, curve.off) for c in found.draws)
    return Fitted(found.form, curve, draws, found.rms, found.points)


def _too_little(series: Sequence[LoadPoint]) -> str:
    if len({p.load for p in series}) < LEAST_POINTS:
        return f"{len(series)} loads with a rate are too few for a curve, which needs {LEAST_POINTS}"
    span = series[-1].load / series[0].load
    if span < LEAST_SPAN:
        return f"the largest load is {span:.3g} times the smallest, and a curve needs {LEAST_SPAN:g} times"
    return ""


def _neither(series: Sequence[LoadPoint], rms: float) -> str:
    text = f"the points deviate from the nearest curve by {rms:.1%} (at most {MISFIT:.0%})".replace("%", " %")
    first = series[0]
    steep = max(series, key=lambda p: p.rate / p.load)
    if steep.rate / steep.load > 1.1 * first.rate / first.load:
        times = steep.load / first.load, steep.rate / first.rate
        text += f": {times[0]:.3g} times the load gave {times[1]:.3g} times the rate, which is more than linear"
    return text


def _law(curve: Curve) -> LawCurve:
    assert isinstance(curve, LawCurve)
    return curve


def _off(curve: Curve, n: Floats, x: Floats) -> Floats:
    return np.asarray(curve.rates(n) / x - 1)


def _drawn(curve: Curve, n: Floats, own: Floats, left: Floats, draws: int, seed: int) -> tuple[Curve, ...]:
    rng = np.random.default_rng(seed)
    df = len(n) - PARAMETERS
    lack2 = max(0.0, float(np.sum(left**2)) / df - float(np.mean(own**2)))
    known, drawn = curve.rates(n), np.empty((draws, len(n)))
    for x in drawn:
        sd = np.minimum(np.sqrt(own**2 + lack2 * df / rng.chisquare(df)), WILDEST)
        x[:] = known * np.exp(sd * rng.standard_normal(len(n)))
    errors = np.hypot(own, LEAST_ERROR) * drawn
    if isinstance(curve, Usl):
        return tuple(fit_usl_each(n, drawn, errors, [curve] * draws)[0])
    assert isinstance(curve, Plateau)
    return tuple(fit_plateau_each(n, drawn, errors, [curve] * draws)[0])
