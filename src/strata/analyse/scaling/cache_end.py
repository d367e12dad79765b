"""How large a cache is, from a sweep over the working set.

Of uniform reads over a working set W a cache of C answers min(1, C ÷ W). With the same I/Os in flight the time of one
is t(W) = t_miss − (t_miss − t_hit) · min(1, C ÷ W): level up to C, and a straight line over 1 ÷ W beyond it. C is the
corner of the two pieces that lie nearest to the points; its interval is that of the points' own errors, drawn anew.

Source: the independent reference model (King, Analysis of demand paging algorithms, IFIP 1971); Little's law.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strata.analyse.series.longrun import Floats
from strata.model.estimate import Estimate
from strata.model.scale import CacheEnd, ScalePoint

LEAST = 5
"""Points: two pieces of two each, and one between them."""
DIFFERS = 1.3
"""Times that a miss takes longer than a hit: with less there is no cache to be seen."""
MISFIT = 0.10
"""Root mean square of the points around the pieces, as a share, from which on no cache is told."""
STEPS, DRAWS, SEED = 200, 200, 1


def cache_end(points: Sequence[ScalePoint]) -> CacheEnd | None:
    """The cache of one layer; None where the points show none, or not where it ends."""
    if len(points) < LEAST:
        return None
    sizes = np.array([float(p.value) for p in points])
    rates = np.array([p.iops.value for p in points])
    halves = np.array([0.0 if p.iops.half_width is None else p.iops.half_width for p in points])
    times = 1 / rates
    found = _corner(sizes, times)
    if found is None:
        return None
    size, hit, miss, misfit = found
    # Two points at the least on either side: else the corner is where the points end.
    if miss < DIFFERS * hit or misfit > MISFIT or not sizes[1] <= size <= sizes[-2]:
        return None
    draw = np.random.default_rng(SEED)
    error = np.maximum(halves / 1.96 / rates, misfit)
    drawn = [_corner(sizes, times * np.exp(draw.normal(0, error))) for _ in range(DRAWS)]
    low, high = (float(q) for q in np.quantile([d[0] for d in drawn if d is not None], [0.025, 0.975]))
    n = sum(p.rounds for p in points)
    return CacheEnd(
        size=Estimate(value=size, low=min(low, size), high=max(high, size), n=n, unit="B"),
        times=miss / hit,
        largest=int(sizes[-1]),
        answers=min(1.0, size / float(sizes[-1])),
    )


def _corner(sizes: Floats, times: Floats) -> tuple[float, float, float, float] | None:
    """(cache, time of a hit, time of a miss, misfit) of the least squares of relative errors, over all caches at once.

    t = hit · h + miss · (1 − h), divided by the measured time: two unknowns, whose normal equations are solved.
    """
    caches = np.geomspace(sizes[0], sizes[-1], STEPS)
    hits = np.minimum(1.0, caches[:, None] / sizes)
    a, b = hits / times, (1 - hits) / times
    aa, ab, bb, ta, tb = (np.sum(one, axis=1) for one in (a * a, a * b, b * b, a, b))
    det = aa * bb - ab * ab
    with np.errstate(divide="ignore", invalid="ignore"):
        hit, miss = (ta * bb - tb * ab) / det, (tb * aa - ta * ab) / det
    misfit = np.sqrt(np.mean((a * hit[:, None] + b * miss[:, None] - 1) ** 2, axis=1))
    sound = np.flatnonzero((hit > 0) & (miss > 0) & np.isfinite(misfit))
    if len(sound) == 0:
        return None
    best = sound[np.argmin(misfit[sound])]
    return float(caches[best]), float(hit[best]), float(miss[best]), float(misfit[best])
