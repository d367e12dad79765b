"""Seconds that a half-width in every cell still takes: what `next` would spend, without looking at what it finds.

A cell that is near enough needs nothing more. Another gets visits of the length that `next` chooses until its own
bring what smoothing leaves to be brought; one that is doubted gets a third visit whatever its interval says, and a
share of all cells a second one. What smoothing brings is asked at the asked half-width, not now: while cells are noisy
neighbours seem to say more of them than they do once each is known well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.matrix import gp
from strata.analyse.matrix.next import SPARED, STRETCHED, TWICE, VISITS_MOST, visit_seconds
from strata.analyse.matrix.starts import Spot, Starts, share_below
from strata.analyse.matrix.table import NARROWED_MOST, Filled, Theta
from strata.analyse.series.longrun import Floats
from strata.analyse.stats import t_quantile

MOST_OF_THEM = 0.98
"""Share of the cells that must be able to get there: a scaled chi-square has noisy cells without end."""
UNSURE_MOST = 0.5
"""Share of what is plausible that may forbid the half-width before it is said that no time brings it."""
NARROW, BROAD = 0.1, 0.9
TWO_SIDED = 2.0


@dataclass(frozen=True)
class Needed:
    """Seconds: the expected, and the range that 80 of 100 lie in; None where no time is enough."""

    seconds: float | None
    low: float | None
    high: float | None


def needed_of(seconds: Floats, weight: Floats, possible: Floats) -> Needed:
    """Of the time at each plausible noise, its weight, and the share of cells that can get there at all."""
    reached = possible > MOST_OF_THEM
    if not reached.any():
        return Needed(None, None, None)
    told = np.where(reached, seconds, math.inf)
    low, high = (share_below(told, weight, share) for share in (NARROW, BROAD))
    sure = float(weight[~reached].sum()) <= UNSURE_MOST
    # A time is held to a factor, so the mean is that of its logarithm.
    logs = np.log(np.maximum(seconds[reached], 1e-3))
    expected = float(np.exp(np.average(logs, weights=weight[reached]))) if sure else None
    return Needed(expected, low if math.isfinite(low) else None, high if math.isfinite(high) else None)


def more(
    between: Floats, variance_s: Floats, visits: Floats, had_s: Floats, wanted: Floats, fewest: Floats, *,
    start_s: float, shortest: float, longest: float,
) -> tuple[Floats, Floats]:  # fmt: skip
    """(seconds of each cell still, whether it gets there). ``wanted``: the variance its own visits are to have;
    ``fewest``: visits it gets in any case."""
    each = np.array([visit_seconds(b, v, start_s, shortest, longest) for b, v in zip(between, variance_s, strict=True)])
    known = visits / (between**2 + variance_s / np.maximum(had_s / np.maximum(visits, 1), 1e-9))
    missing = np.maximum(0.0, 1 / wanted - np.where(visits > 0, known, 0.0))
    left = np.maximum(VISITS_MOST - visits, 0)
    # Where the visits that are left would not do, they are longer.
    to_use = np.maximum(1.0, SPARED * VISITS_MOST - visits)
    room = np.where(missing > 0, to_use / np.maximum(missing, 1e-12) - between**2, math.inf)
    longer = np.where(room > 0, variance_s / np.maximum(room, 1e-12), 0.0)
    each = np.clip(np.maximum(each, longer), shortest, STRETCHED * longest)
    number = np.ceil(missing * (between**2 + variance_s / each) - 1e-9)
    possible = number <= left
    number = np.maximum(np.minimum(number, left), fewest)
    # Of all cells alike: whichever are visited a second time for the starts' sake.
    again = max(0.0, TWICE - float(np.mean(visits + number >= 2)))
    return number * (each + start_s) + again * (shortest + start_s), possible.astype(float)


def still(
    cells: Sequence[Filled], spots: Sequence[Spot], theta: Theta, starts: Starts, target: float, *,
    start_s: float, shortest: float, longest: float, spent_s: float,
) -> Needed:  # fmt: skip
    """For the cells as they stand, with the ``spent_s`` it took so far."""
    own = [c.own for c in cells]
    visits = np.array([0.0 if o is None else o.visits for o in own])
    had_s = np.array([0.0 if o is None else o.seconds for o in own])
    typical = float(np.median([o.variance_s for o in own if o is not None] or [0.0]))
    variance_s = np.array([typical if o is None else o.variance_s for o in own])
    # Cells differ in what their starts differ by, whatever that is in all.
    usual = math.sqrt(float(np.mean([o.between**2 for o in own if o is not None] or [1.0]))) or 1.0
    kind = np.array([1.0 if o is None else o.between / usual for o in own])
    reach = np.array([TWO_SIDED if o is None else o.half / math.sqrt(max(o.variance, 1e-12)) for o in own])
    doubted = np.array([c.suspect or c.kink or (c.own is not None and c.own.moved) for c in cells])
    fewest = np.where(doubted, np.maximum(0.0, 3 - visits), np.where(visits == 0, 1.0, 0.0))
    seconds, weights, possible = [], [], []
    # What a cell deviates by on its own is not known better than its noise allows: the less, the more smoothing brings.
    for rough in (0.0, math.sqrt(2 / max(1, len(own)))):
        wanted = (math.log1p(target) / (reach * gains(cells, spots, theta, target, rough))) ** 2
        for between, weight in zip(starts.between, starts.weight, strict=True):
            took, done = more(
                float(between) * kind, variance_s, visits, had_s, wanted, fewest,
                start_s=start_s, shortest=shortest, longest=longest,
            )  # fmt: skip
            seconds.append(spent_s + float(took.sum()))
            weights.append(weight / 2)
            possible.append(float(done.mean()))
    return needed_of(np.array(seconds), np.array(weights), np.array(possible))


def gains(
    cells: Sequence[Filled], spots: Sequence[Spot], theta: Theta, target: float, rough: float = 0.0
) -> Floats:  # fmt: skip
    """Half-width that is given over a cell's own, when all are near ``target``: 1 where nothing is smoothed. ``rough``:
    cells deviate on their own by so much of their present variance more than was fitted."""
    asked = math.log1p(target)
    found = np.ones(len(cells))
    for group, chosen in theta.items():
        places = [i for i, s in enumerate(spots) if s.group == group and cells[i].takes_smoothed]
        if not places:
            continue
        where = np.array([[math.log2(spots[i].depth), math.log2(spots[i].size)] for i in places])
        pattern = np.array([spots[i].pattern for i in places], dtype=np.int64)
        present = float(np.median([o.variance for i in places if (o := cells[i].own) is not None] or [0.0]))
        with_more = np.array([*chosen[:3], 0.5 * math.log(math.exp(2 * float(chosen[3])) + rough * present)])
        reach = t_quantile(max(6.0, len(places) / 4))
        gain = np.ones(len(places))
        for _ in range(4):
            noise = (asked / gain / TWO_SIDED) ** 2
            level, used = np.zeros(len(places)), np.ones(len(places), dtype=bool)
            looked = gp.smooth(where, pattern, level, noise, used, with_more)
            gain = np.clip(reach * np.sqrt(looked.variance) / (TWO_SIDED * np.sqrt(noise)), NARROWED_MOST, 1.0)
        found[places] = gain
    return found
