"""The noise of a machine and device, pooled over cells and runs: what the bins of one cell are too few to say.

* Correlation. A cell of a second or two cannot tell for how long its bins go together; hundreds of them can. The
  autocorrelations of all visits are averaged, each in shares of its own variance, and a first-order autoregression
  beside independent noise is fitted to them. Every series is centred on its own mean, which hides the variance of
  that mean (Priestley 1981, section 5.3.3): the fit looks through the same centring.
* Spread. Each cell's variance of bins, times that correlation, is its variance a second; they are pooled as
  `series.prior.pool` does (Smyth 2004).
* Between starts. What visits of one cell differ by beyond what their bins explain, by the method of moments, each
  visit's share bounded so that one start that a neighbour hit does not set the floor of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from strata.analyse.series.longrun import Floats
from strata.analyse.series.prior import DF_MOST, NoisePrior, pool
from strata.analyse.visit import Visit, visit_of
from strata.model.groups import grouped
from strata.model.noise import PooledNoise
from strata.model.plan import Plan
from strata.model.result import CellResult

LAGS_S = 1.5
"""Correlation is not looked for beyond this: visits are not much longer."""
LONG = 0.6
"""Visits shorter than this share of the long ones do not speak of correlation."""
LONG_ONES = 0.25
"""Long are those that have this share of all bins: a single one, longer than all others, does not speak alone."""
BOUND = 9.0
"""A visit's squared deviation counts for at most so many times what is expected of it."""
BETWEEN_MOST_DF = 60.0
TRIES = 40
SAME = 1e-3
"""Rounds of bounding, and the relative change that is none."""


@dataclass(frozen=True)
class CellNoise:
    """One cell's own: ``variance_s`` as in `PooledNoise`, its degrees of freedom, and how long it was seen."""

    variance_s: float
    df: float
    seconds: float


def correlation(visits: Sequence[Visit]) -> tuple[float, float]:
    """(integrated autocorrelation time in s, bins that go together); one bin where nothing is known."""
    known = [v for v in visits if v.rates.size >= 8 and float(np.var(v.rates)) > 0]
    if not known:
        return (visits[0].bin_s if visits else 0.0), 1.0
    # A visit not much longer than its correlation is nearly a straight line: the long ones say the most.
    sizes = np.sort([v.rates.size for v in known])[::-1]
    long = sizes[np.searchsorted(np.cumsum(sizes), LONG_ONES * sizes.sum())]
    known = [v for v in known if v.rates.size >= LONG * long]
    bin_s = float(np.median([v.bin_s for v in known]))
    lags = max(1, min(round(LAGS_S / bin_s), max(v.rates.size for v in known) // 2))
    sums, weights = np.zeros(lags + 1), np.zeros(lags + 1)
    for v in known:
        n = v.rates.size
        far = min(lags, n // 2) + 1
        sums[:far] += v.products[:far]
        weights[:far] += n - np.arange(far)
    size = len(known) / sum(1 / v.rates.size for v in known)
    seen = weights[1:] > 0
    raw: Floats = sums[1:][seen] / weights[1:][seen]
    stretch = _stretch(raw, np.arange(1, lags + 1)[seen], weights[1:][seen], size)
    return stretch * bin_s, stretch


def _stretch(raw: Floats, lags: NDArray[np.int64], weights: Floats, size: float) -> float:
    """Bins that go together: of a · r^lag, the closest to ``raw`` once it is seen through series of ``size`` bins
    that were centred on their own means."""
    best = (math.inf, 1.0)
    shares = np.linspace(0.0, 1.0, 26)[:, None]
    every = np.arange(1, math.ceil(size))
    for r in np.exp(-1 / np.geomspace(0.4, max(1.0, size), 28)):
        whole = 1 + 2 * float(np.sum((1 - every / size) * r**every)) * shares
        # The mean of a series takes this share of its variance with it, at every lag.
        hidden = np.minimum(whole / size, 0.9)
        seen = (shares * r**lags - hidden) / (1 - hidden)
        off = ((seen - raw) ** 2 * weights).sum(axis=1)
        at = int(np.argmin(off))
        if float(off[at]) < best[0]:
            best = float(off[at]), 1 + 2 * float(shares[at, 0]) * r / (1 - r)
    return min(max(1.0, best[1]), size / 3)


def cell_noise(visits: Sequence[Visit], stretch: float) -> CellNoise | None:
    """One cell's, with the pooled number of bins that go together."""
    if not visits:
        return None
    seconds = sum(v.seconds for v in visits)
    bins = sum(v.rates.size for v in visits)
    # The mean of a visit takes `stretch` bins' worth of the variance with it.
    left = max(0.5 * bins, bins - stretch * len(visits))
    variance = sum(float(v.residuals @ v.residuals) for v in visits) / left
    bin_s = seconds / bins
    # A capped endpoint may give the same in every bin; I/Os are whole ones, and no mean is known better than that.
    ios = sum(math.exp(v.level) * v.seconds for v in visits)
    rounding = seconds / (12 * max(1.0, ios) ** 2)
    # Squares of correlated bins repeat each other half as long as the bins themselves do.
    return CellNoise(max(variance * stretch * bin_s, rounding), max(2.0, left / max(1.0, stretch / 2)), seconds)


def pooled(visits: Sequence[Visit], known: PooledNoise | None = None) -> PooledNoise | None:
    """Of all visits of one run; ``known`` is what was known of the machine before, and counts for its own degrees
    of freedom. None where there is nothing of either."""
    by_cell = grouped((v.cell, v) for v in visits)
    tau, stretch = correlation(visits)
    cells = {i: c for i, some in by_cell.items() if (c := cell_noise(some, stretch)) is not None}
    if not cells:
        return known
    prior = pool([(c.variance_s, c.df) for c in cells.values()])
    if prior is None:
        middle = float(np.median([c.variance_s for c in cells.values()]))
        prior = NoisePrior(variance_s=middle, df=1.0)
    between, df = _between(by_cell, cells, prior, known)
    seconds = sum(c.seconds for c in cells.values())
    return PooledNoise(
        variance_s=prior.variance_s, spread_df=prior.df, correlation_s=tau, between=between, between_df=df,
        cells=len(cells), seconds=seconds, runs=() if known is None else known.runs,
    )  # fmt: skip


def moderated(cell: CellNoise | None, noise: PooledNoise) -> float:
    """A cell's variance a second, its own and the pooled one weighed by what each is worth."""
    if cell is None:
        return noise.variance_s
    return (noise.spread_df * noise.variance_s + cell.df * cell.variance_s) / (noise.spread_df + cell.df)


def together(runs: Sequence[PooledNoise]) -> PooledNoise | None:
    """What several runs of one machine and device showed, as one; the newest need not come first."""
    if not runs:
        return None
    weights = np.array([max(1.0, r.cells) for r in runs])
    share = weights / weights.sum()
    df = np.array([r.between_df for r in runs])
    logs = np.array([math.log(max(r.variance_s, 1e-12)) for r in runs])
    centre = float(share @ logs)
    apart = float(share @ (logs - centre) ** 2)
    between = float(np.sqrt(np.average([r.between**2 for r in runs], weights=np.maximum(df, 1e-6))))
    # Runs that differ widely say less of the next one: the variance of a log variance with d degrees of freedom is
    # about two by d.
    spread = 1 / (1 / float(share @ np.array([r.spread_df for r in runs])) + apart / 2)
    return PooledNoise(
        variance_s=math.exp(centre),
        spread_df=max(0.5, min(DF_MOST, spread)),
        correlation_s=float(share @ np.array([r.correlation_s for r in runs])),
        between=between,
        between_df=min(BETWEEN_MOST_DF, float(df.sum())),
        cells=sum(r.cells for r in runs),
        seconds=sum(r.seconds for r in runs),
        runs=tuple(dict.fromkeys(name for r in runs for name in r.runs)),
    )


def noise_of(plan: Plan, results: Sequence[CellResult]) -> PooledNoise | None:
    """Of the measurements of any run, each round of a cell as a visit of it. Rounds at different layers are different
    cells; the intervals must be at least four a round."""
    places = {c.key: i for i, c in enumerate(plan.cells)}
    known = [
        visit_of(places[r.cell], r.result.intervals)
        for r in results
        if r.error is None and r.result is not None and r.cell in places
    ]
    return pooled([v for v in known if v is not None])


def prior_of(noise: PooledNoise | None) -> NoisePrior | None:
    """For the stopping rule of one measurement."""
    if noise is None or noise.variance_s <= 0:
        return None
    return NoisePrior(noise.variance_s, noise.spread_df, noise.between, noise.between_df)


def excess_of(visits: Sequence[Visit], variance_s: float, floor: float) -> float:
    """Squares by which visits of one cell differ beyond what their bins explain, added up. ``variance_s`` is the
    cell's, ``floor`` the variance from start to start that is expected: one start that a neighbour hit counts for no
    more than `BOUND` times both."""
    inside = np.array([variance_s / v.seconds for v in visits])
    levels = np.array([v.level for v in visits])
    each = inside + floor
    away = (levels - np.average(levels, weights=1 / each)) ** 2
    lost = (len(visits) - 1) / len(visits)
    bounded = np.minimum(away, BOUND * each * lost) if floor > 0 or inside.min() > 0 else away
    return float(np.sum(bounded - inside * lost))


def _between(
    by_cell: dict[int, list[Visit]], cells: dict[int, CellNoise], prior: NoisePrior, known: PooledNoise | None
) -> tuple[float, float]:
    """(relative standard deviation from start to start, its degrees of freedom)."""
    excess, weight, df = 0.0, 0.0, 0.0
    floor = known.between**2 if known is not None else 0.0
    for _ in range(TRIES):
        before = floor
        excess = weight = df = 0.0
        for i, some in by_cell.items():
            if len(some) < 2 or i not in cells:
                continue
            own = (prior.df * prior.variance_s + cells[i].df * cells[i].variance_s) / (prior.df + cells[i].df)
            inside = np.array([own / v.seconds for v in some])
            beyond = excess_of(some, own, floor)
            # Cells whose own noise is large say little of what lies between the starts.
            w = 1 / (inside.mean() + floor + 1e-12) ** 2
            excess += w * beyond
            weight += w * (len(some) - 1)
            df += (len(some) - 1) * (floor / (floor + inside.mean())) ** 2 if floor > 0 else 0.0
        if weight <= 0:
            break
        floor = max(0.0, excess / weight)
        # From nothing it grows by at most `BOUND` at once: where bins differ little and starts much, that is often.
        if abs(floor - before) <= SAME * floor:
            break
    if known is not None and known.between_df > 0:
        both = df + known.between_df
        floor = (df * floor + known.between_df * known.between**2) / both
        df = both
    return math.sqrt(floor), min(BETWEEN_MOST_DF, df)
