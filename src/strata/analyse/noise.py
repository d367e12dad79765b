"""The noise floor: how much equal measurements differ on this machine, today.

``between_rounds``: log IOPS of cell i in round r is a_i + b_r + e. a is the cell, b what the whole round shared
(drift), e the noise. Pairs of layers are compared within a round, so b cancels and only e matters. The standard
deviation of e is pooled over cells, each cell's share bounded at four times the typical variance so that one
troubled cell does not hide what the others can show.

``tolerance`` = t(0.975, df) · between_rounds · sqrt(2 / rounds): what the ratio of two equal cells with this many
rounds exceeds by chance in one case of twenty. With one round nothing was repeated; the spread between the
intervals inside the measurements stands in for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from strata.analyse.rounds import CellRounds
from strata.analyse.stats import t_quantile
from strata.model.analysis import NoiseFloor
from strata.model.noise import PooledNoise
from strata.model.result import Interval
from strata.model.run import NoiseProbe

FLOOR = 0.01
"""No tolerance is smaller: clocks, placement and queue phase differ by about that even on a quiet machine."""


DRIFT_CELLS = 4
"""What a round shares is seen in so many cells at least."""

EARLIER_DF = 6.0
"""What earlier runs count for at most beside a run's own rounds: the weight of a pool (`stats.PRIOR_DF`)."""

EARLIER_MOST = 2.0
"""And no run's noise is taken for more than so many times what the run itself shows, however bad the others were."""


def noise_floor(
    cells: Iterable[CellRounds], first: NoiseProbe | None = None, earlier: PooledNoise | None = None
) -> NoiseFloor:
    """Of all cells of one run, and of what was seen ``first``, before anything was compared.

    Where the first look was noisier than the rounds turned out to be, it is pooled with them by degrees of freedom:
    it widens every tolerance, and one bad second before the run does not outweigh a hundred good ones in it. So does
    what ``earlier`` runs of this host and device showed of measurements of that length, with at most `EARLIER_DF`: a
    run of few rounds that happened to be quiet does not know better than all runs before it.
    """
    known = [c for c in cells if c.values]
    rounds = max((len(c.values) for c in known), default=0)
    within = _within(known)
    repeated = [c for c in known if len(c.values) > 1]
    if rounds < 2 or not repeated:
        sd = max(within, first.between if first else 0.0, _earlier_sd(known, earlier))
        tolerance = max(FLOOR, 2 * sd)
        return NoiseFloor(
            between_rounds=sd, within_bins=within, tolerance=tolerance, rounds=max(rounds, 0), cells=len(known)
        )
    sd, df = between_rounds(repeated)
    if first is not None and first.between > sd and first.repeats > 1:
        extra = first.repeats - 1
        sd = float(np.sqrt((df * sd**2 + extra * first.between**2) / (df + extra)))
    before = min(_earlier_sd(repeated, earlier), EARLIER_MOST * sd)
    if earlier is not None and before > sd:
        weight = min(EARLIER_DF, max(earlier.between_df, 1.0))
        sd = float(np.sqrt((df * sd**2 + weight * before**2) / (df + weight)))
    typical = float(np.median([len(c.values) for c in repeated]))
    tolerance = max(FLOOR, t_quantile(df) * sd * float(np.sqrt(2 / typical)))
    return NoiseFloor(between_rounds=sd, within_bins=within, tolerance=tolerance, rounds=rounds, cells=len(known))


def _earlier_sd(cells: list[CellRounds], earlier: PooledNoise | None) -> float:
    """What one measurement as long as these is known to, by earlier runs."""
    lengths = [r.result.seconds for c in cells for r in c.results if r.result is not None and r.result.seconds > 0]
    return 0.0 if earlier is None or not lengths else earlier.error(float(np.median(lengths)))


def between_rounds(cells: list[CellRounds]) -> tuple[float, float]:
    """(relative standard deviation, its degrees of freedom) after the common drift of each round is taken out."""
    numbers = sorted({v.round for c in cells for v in c.values})
    table = np.full((len(cells), len(numbers)), np.nan)
    for i, cell in enumerate(cells):
        for value in cell.values:
            table[i, numbers.index(value.round)] = np.log(value.iops)
    table -= np.nanmedian(table, axis=1, keepdims=True)
    drift = len(cells) >= DRIFT_CELLS
    if drift:
        # A further round of a few cells does not show what all of them shared: its median would be their own noise.
        shared = np.nanmedian(table, axis=0, keepdims=True)
        table -= np.where(np.sum(~np.isnan(table), axis=0, keepdims=True) >= DRIFT_CELLS, shared, 0.0)
    table -= np.nanmean(table, axis=1, keepdims=True)
    have = np.sum(~np.isnan(table), axis=1)
    keep = have > 1
    lost = 1 - 1 / len(cells) if drift else 1.0
    variances = np.nansum(table[keep] ** 2, axis=1) / ((have[keep] - 1) * lost)
    df = float(np.sum(have[keep] - 1)) * lost
    k = float(np.median(have[keep] - 1))
    typical = float(np.median(variances)) / (1 - 2 / (9 * k)) ** 3
    pooled = np.average(np.minimum(variances, 4 * typical) if typical > 0 else variances, weights=have[keep] - 1)
    return float(np.sqrt(pooled)), df


def _within(cells: list[CellRounds]) -> float:
    spreads = []
    for cell in cells:
        for one in cell.results:
            rates = interval_rates(one.result.intervals) if one.result else []
            if len(rates) > 2 and np.mean(rates) > 0:
                spreads.append(float(np.std(rates, ddof=1) / np.mean(rates)))
    return float(np.median(spreads)) if spreads else 0.0


PIECES = 8
LONGEST_NS = 10**9


def pieces(intervals: Sequence[Interval]) -> list[tuple[int, int, int]]:
    """(start_ns, end_ns, I/Os) of neighbouring intervals joined: an eighth of a measurement, at most a second.

    Intervals may be as short as what is looked for in them (a stall); what is said of a measurement's evenness, of
    noise and in pictures is of pieces that do not depend on that.
    """
    if not intervals:
        return []
    shortest = min(LONGEST_NS, (intervals[-1].end_ns - intervals[0].start_ns) / PIECES)
    found: list[tuple[int, int, int]] = []
    begin, ops = intervals[0].start_ns, 0
    for one in intervals:
        ops += one.read.ops + one.write.ops
        # Half of an interval may be missing: with the next one the piece would be as much too long.
        if one.end_ns - begin + (one.end_ns - one.start_ns) / 2 > shortest:
            found.append((begin, one.end_ns, ops))
            begin, ops = one.end_ns, 0
    if intervals[-1].end_ns > begin:
        found.append((begin, intervals[-1].end_ns, ops))
    return found


def interval_rates(intervals: Sequence[Interval]) -> list[float]:
    """IOPS of each of the `pieces`; a last one shorter than half of the first is left out."""
    spans = [(end - start, ops) for start, end, ops in pieces(intervals)]
    return [ops / ns * 1e9 for ns, ops in spans if ns > spans[0][0] / 2]
