"""Which cells are worth another visit, and how long.

Neyman (1934) gives each stratum time in proportion to its standard deviation. Here visits are bought one by one: always
that which takes most off the squared errors for its time, which comes to the same as they add up, and stops by itself
where a cell is sure enough. A visit is as long as balances what a start costs against what differs between starts: with
cost c of a start, T = √(c · variance a second / variance between starts).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

from strata.analyse.matrix.table import Filled
from strata.model.noise import PooledNoise

VISITS_MOST = 24
UNSURE = 0.25
"""Variance of a cell of which nothing is known (a factor of e^0.5)."""


@dataclass(frozen=True)
class Wish:
    """Visit this cell for so many seconds. ``kink``: to see whether the cell or the smoothing is wrong."""

    cell: int
    seconds: float
    kink: bool = False


def visit_seconds(noise: PooledNoise, variance_s: float, start_s: float, shortest: float, longest: float) -> float:
    """Best length of a visit of a cell with that variance a second, between the bounds."""
    between = max(noise.between, 1e-4) ** 2
    return min(longest, max(shortest, math.sqrt(start_s * variance_s / between)))


def wishes(
    cells: Sequence[Filled],
    noise: PooledNoise,
    *,
    seconds: float,
    start_s: float,
    target: float | None,
    shortest: float,
    longest: float,
    left_out: frozenset[int] = frozenset(),
) -> list[Wish]:
    """Visits for ``seconds`` in all, the most useful first; fewer where every cell is within ``target``.

    ``start_s`` is what a visit costs beside its length. A cell is visited at most once: its result is looked at first.
    """
    heap: list[tuple[float, int, Wish]] = []
    for i, cell in enumerate(cells):
        if i in left_out or (cell.own is not None and cell.own.visits >= VISITS_MOST):
            continue
        own = cell.own
        variance_s = noise.variance_s if own is None else own.variance_s
        between = noise.between if own is None else own.between
        length = visit_seconds(noise, variance_s, start_s, shortest, longest)
        doubted = own is not None and own.visits < 3 and (cell.suspect or cell.kink or own.moved)
        half = cell.half
        if target is not None and half is not None and half <= math.log1p(target) and not doubted:
            continue
        before = _variance(cell, doubted)
        brings = 1 / (between**2 + variance_s / length + 1e-12)
        after = 1 / (1 / max(before, 1e-12) + brings)
        worth = (before - after) / (length + start_s)
        heapq.heappush(heap, (-worth, i, Wish(i, length, kink=doubted)))
    found: list[Wish] = []
    while heap and seconds > 0:
        _, _, wish = heapq.heappop(heap)
        if wish.seconds + start_s > seconds:
            if seconds - start_s < shortest:
                break
            wish = Wish(wish.cell, seconds - start_s, wish.kink)
        seconds -= wish.seconds + start_s
        found.append(wish)
    return found


def _variance(cell: Filled, doubted: bool) -> float:
    if cell.own is None:
        return UNSURE
    if doubted and cell.smoothed is not None:
        # Either value may be the wrong one: what it can be off by is the distance between them.
        return max(cell.own.variance, (cell.own.level - cell.smoothed.alone) ** 2 / 4)
    if cell.takes_smoothed and cell.smoothed is not None:
        return cell.smoothed.variance
    return cell.own.variance
