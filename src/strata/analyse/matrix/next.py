"""Which cells are worth another visit, and how long.

Neyman (1934) gives each stratum time in proportion to its standard deviation. Here visits are bought one by one: always
that which takes most off the squared errors for its time, which comes to the same as they add up, and stops by itself
where a cell is sure enough. A visit is as long as balances what a start costs against what differs between starts: with
cost c of a start, T = √(c · variance a second / variance between starts); longer where a cell's visits would run out
before it is near enough.

What equal starts differ by is known from cells that were visited twice, at first the few of the noise floor. Before an
interval that rests on it is believed, a share of all cells, spread over the table, is visited twice.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

from strata.analyse.matrix.table import CellEstimate, Filled
from strata.model.noise import PooledNoise

VISITS_MOST = 24
SPARED = 0.75
"""Share of them that is to be enough: the rest is for a cell that turns out to be noisier."""
STRETCHED = 4
"""A cell whose visits would run out gets visits of so many times the longest."""
TWICE = 1 / 3
"""Share of the cells that are visited twice before it is believed that all are near enough."""
GOLDEN = (math.sqrt(5) - 1) / 2
UNSURE = 0.25
"""Variance of a cell of which nothing is known (a factor of e^0.5)."""


@dataclass(frozen=True)
class VisitRequest:
    """Visit this cell for so many seconds. ``kink``: to see whether the cell or the smoothing is wrong."""

    cell: int
    seconds: float
    kink: bool = False


def visit_seconds(between: float, variance_s: float, start_s: float, shortest: float, longest: float) -> float:
    """Best length of a visit of a cell with that variance a second, between the bounds; ``between`` is the standard
    deviation from start to start."""
    return min(longest, max(shortest, math.sqrt(start_s * variance_s) / max(between, 1e-4)))


def visit_requests(
    cells: Sequence[Filled],
    noise: PooledNoise,
    *,
    seconds: float,
    start_s: float,
    target: float | None,
    shortest: float,
    longest: float,
    left_out: frozenset[int] = frozenset(),
) -> list[VisitRequest]:
    """Visits for ``seconds`` in all, the most useful first; fewer where every cell is within ``target``.

    ``start_s`` is what a visit costs beside its length. A cell is visited at most once: its result is looked at first.
    """
    heap: list[tuple[float, int, VisitRequest]] = []
    for i, cell in enumerate(cells):
        if i in left_out or (cell.own is not None and cell.own.visits >= VISITS_MOST):
            continue
        own = cell.own
        variance_s = noise.variance_s if own is None else own.variance_s
        between = noise.between if own is None else own.between
        length = visit_seconds(between, variance_s, start_s, shortest, longest)
        if own is not None and target is not None:
            length = min(STRETCHED * longest, max(length, _long_enough(own, cell.half or own.half, math.log1p(target))))
        doubted = own is not None and own.visits < 3 and (cell.suspect or cell.kink or own.moved)
        half = cell.half
        if target is not None and half is not None and half <= math.log1p(target) and not doubted:
            continue
        before = _variance(cell, doubted)
        brings = 1 / (between**2 + variance_s / length + 1e-12)
        after = 1 / (1 / max(before, 1e-12) + brings)
        worth = (before - after) / (length + start_s)
        heapq.heappush(heap, (-worth, i, VisitRequest(i, length, kink=doubted)))
    found: list[VisitRequest] = []
    while heap and seconds > 0:
        _, _, wish = heapq.heappop(heap)
        if wish.seconds + start_s > seconds:
            if seconds - start_s < shortest:
                break
            wish = VisitRequest(wish.cell, seconds - start_s, wish.kink)
        seconds -= wish.seconds + start_s
        found.append(wish)
    return found


def seen_once(cells: Sequence[Filled], of: Sequence[int]) -> list[int]:
    """Which cells of ``of`` are to be visited a second time until `TWICE` of them have been; far from each other."""
    once = [i for i in of if (own := cells[i].own) is None or own.visits < 2]
    missing = max(0, math.ceil(TWICE * len(of)) - (len(of) - len(once)))
    return sorted(once, key=lambda i: i * GOLDEN % 1)[:missing]


def _long_enough(own: CellEstimate, half: float, target: float) -> float:
    """Seconds a visit must have, that those which are left to the cell bring it to the target; 0 where no length does,
    because the starts differ by too much."""
    missing = max(0.0, (half / target) ** 2 - 1) / max(own.variance, 1e-12)
    if not missing:
        return 0.0
    room = max(1.0, SPARED * VISITS_MOST - own.visits) / missing - own.between**2
    return own.variance_s / room if room > 0 else 0.0


def _variance(cell: Filled, doubted: bool) -> float:
    if cell.own is None:
        return UNSURE
    if doubted and cell.smoothed is not None:
        # Either value may be the wrong one: what it can be off by is the distance between them.
        return max(cell.own.variance, (cell.own.level - cell.smoothed.alone) ** 2 / 4)
    if cell.takes_smoothed and cell.smoothed is not None:
        return cell.smoothed.variance
    return cell.own.variance
