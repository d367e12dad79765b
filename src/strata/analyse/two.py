"""Two runs, cell by cell: how much slower or faster, where the latency moved, and what may be said of it.

Every cell's rounds are put on logarithms; a run's location is Huber's, its variance steadied by the other cells of
both runs (`strata.analyse.rows`). With d = log B − log A, s² = s²_r·(1/n_A + 1/n_B) + 2·τ², s_r the noise of the cell's
rounds on both sides and τ what equal runs of it differ by (the user's word, what its other runs showed, or 0: then the
claims are about these two runs and not about what they stand for):

- *difference*: |d| / s against Student's t, two-sided;
- *equivalence*: two one-sided tests (Schuirmann 1987) of d against ± the margin, which is a loss of that share
  downward and its reciprocal upward, so that A against B and B against A agree;
- both families are adjusted over all cells by Holm (`strata.analyse.stats.holm`).

EQUIVALENT where the whole of a difference beyond the margin is excluded, also when a small one is certain; else SLOWER
or FASTER where a difference is shown (and, unless the user said τ, is larger than the margin); ``beyond_margin`` where
it is shown to be larger than the margin (superiority, adjusted as well). What is neither is CANNOT_TELL: "not
significantly different" is never taken for "equal".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from strata.analyse.between import History, Learnt, StatedVariation
from strata.analyse.rows import Floats, Located, located, pooled, spread, steadied
from strata.analyse.shift import gaps_of
from strata.analyse.stats import LEVEL, below, holm, two_sided
from strata.model.compared import CellCompared, Change, Gap
from strata.model.groups import grouped
from strata.model.margin import MARGIN
from strata.model.percentiles import needed
from strata.model.step_figures import StepFigures

SHIFTS: Mapping[str, str] = {"mean": "mean_ns", "50": "p50_ns", "90": "p90_ns", "99": "p99_ns", "99.9": "p999_ns"}

Rounds = Sequence[StepFigures]
Fields = dict[str, Any]
"""Of an `Estimate` or a `Shift`. A comparison has ten thousand of them: made together with their cell they take half
the time that they take one by one."""
Ends = tuple[Floats, Floats, Floats]
"""Value, low, high."""
Noise = tuple[Floats, Floats]
"""(relative standard deviation, degrees of freedom) of each cell."""
_TINY = 1e-300
_NUMBERS = attrgetter("ops", "iops", *SHIFTS.values())


def by_cell(figures: Iterable[StepFigures]) -> dict[str, list[StepFigures]]:
    """The measuring steps of one run by cell, in the order of the plan."""
    return grouped((one.cell, one) for one in figures if one.kind == "measure")


class _Pair:
    """One metric of every cell on both sides: d, its standard error and degrees of freedom.

    ``between`` is what equal runs of each cell differ by, and with how many degrees of freedom that is known; both
    parts of the error are put together by Satterthwaite (1946).
    """

    def __init__(self, left: Floats, right: Floats, between: Noise) -> None:
        both = np.log(np.concatenate([left, right]))
        self._shared = pooled(*spread(both))
        self.noise = math.sqrt(self._shared.variance) if self._shared.df > 0 else None
        self.a, self.b = located(both, self._shared).halves()
        self.d = self.b.at - self.a.at
        self.n = np.minimum(self.a.n, self.b.n)
        self._rounds = steadied([self.a, self.b], self._shared)
        self.add(between)

    def add(self, between: Noise) -> None:
        """Takes what equal runs differ by into the errors, instead of what was taken before."""
        # Two single rounds show no noise of their own: then only what is known of runs is left.
        inside = np.nan_to_num(self._rounds.error(1 / self.a.n + 1 / self.b.n) ** 2)
        apart = 2 * between[0] ** 2
        square = inside + apart
        known = (self._rounds.df > 0) | (apart > 0)
        self.se = np.sqrt(np.where(known, square, np.nan))
        worth = inside**2 / np.maximum(self._rounds.df, 1.0) + apart**2 / between[1]
        self.df = np.where(worth > 0, np.maximum(square**2 / np.maximum(worth, _TINY), 1.0), 1.0)
        self.half = two_sided(self.df, LEVEL) * self.se

    def ratios(self) -> list[Fields]:
        """B ÷ A of every row."""
        return _estimates(_ends(self.d, self.half), self.n, "ratio")

    def moved(self, was: Floats) -> list[Fields]:
        """The same change in ns, at what A ``was``."""
        value, low, high = (was * (end - 1) for end in _ends(self.d, self.half))
        return _estimates((value, low, high), self.n, "ns")

    def sides(self, of: Located, unit: str) -> list[Fields]:
        """Every row of one side."""
        alone = steadied([of], self._shared)
        half = two_sided(alone.df, LEVEL) * alone.error(1 / of.n)
        return _estimates(_ends(of.at, half), of.n, unit)


class PairedCells(NamedTuple):
    """The cells both runs have, in A's order; the relative noise between the rounds of a run, None where no
    cell has two;
    what equal runs differ by, None where it is not known; and from how many runs of each cell that was learnt."""

    cells: tuple[CellCompared, ...]
    noise: float | None
    between_runs: float | None = None
    learnt_from: int | None = None


def compare_cells(
    a: Mapping[str, Rounds],
    b: Mapping[str, Rounds],
    labels: Mapping[str, str],
    *,
    margin: float = MARGIN,
    between_runs: float | None = None,
    history: History | None = None,
    whole: bool = True,
) -> PairedCells:
    """Every cell that both have; not ``whole``: without where the latency moved.

    ``labels`` by workload key. ``between_runs`` is the relative standard deviation between equal runs, as a share;
    where it is not said it is learnt from ``history``, the other runs of a cell by its name.
    """
    names = [name for name in a if name in b]
    if not names:
        return PairedCells((), None)
    equal: Learnt | StatedVariation = StatedVariation(between_runs, len(names))
    if between_runs is None and history is not None:
        equal = Learnt(names, history)
    before, after = np.split(_numbers([side[n] for side in (a, b) for n in names]), 2)
    iops = _Pair(before[:, :, 1], after[:, :, 1], equal.rows())
    if equal.look_at(np.flatnonzero(np.abs(iops.d) > iops.half).tolist()):
        # What stands out may be a cell that differs from run to run by more than the others: its own runs say.
        iops.add(equal.rows())
    line = -math.log(1 - margin)
    told = _told(iops, line)
    between = equal.rows()
    shifts = _shifts(before, after, between) if whole else [[] for _ in names]
    left, right = (iops.sides(side, "IOPS") for side in (iops.a, iops.b))
    ratios = iops.ratios()
    gaps: list[Gap | None] = [None] * len(names)
    if whole:
        gaps = gaps_of(*([[r.packed for r in side[n]] for n in names] for side in (a, b)))
    cells = []
    for i, name in enumerate(names):
        first, last = a[name][0], b[name][0]
        verdict, beyond, why = _verdict(told[i], 1 - LEVEL, None if between_runs is not None else line)
        cells.append(
            CellCompared.model_validate(
                {
                    "layer": first.layer,
                    "workload_key": first.workload_key,
                    "label": labels.get(first.workload_key, first.workload_key),
                    "a": left[i],
                    "b": right[i],
                    "iops": ratios[i],
                    "p_difference": told[i].difference,
                    "p_equivalence": told[i].equivalence,
                    "verdict": verdict,
                    "beyond_margin": beyond,
                    "shifts": shifts[i],
                    "gap": gaps[i],
                    "caching": (first.caching, last.caching) if first.caching != last.caching else None,
                    "between_runs": float(between[0][i]) if equal.pool is not None else None,
                    "why": why,
                }
            )
        )
    return PairedCells(tuple(cells), iops.noise, equal.pool, equal.runs)


@dataclass(frozen=True)
class _Told:
    """d of one cell and its adjusted p-values; None where the noise is not known."""

    d: float
    difference: float | None
    equivalence: float | None
    superiority: float | None


def _told(iops: _Pair, line: float) -> list[_Told]:
    """Of every cell: a change at all, none beyond ``line``, one beyond it; each family adjusted over all cells."""
    d, se, df = iops.d, iops.se, iops.df
    t = d / se
    known = ~np.isnan(t)
    outside = np.maximum(below((-d - line) / se, df), below((d - line) / se, df))
    families = 2 * below(-np.abs(t), df), outside, below((line - np.abs(d)) / se, df)
    adjusted = [_adjusted(p, known) for p in families]
    return [_Told(float(at), *p) for at, *p in zip(d, *adjusted, strict=True)]


def _verdict(told: _Told, alpha: float, unknown: float | None) -> tuple[Change, bool, str | None]:
    """``unknown``: |d| up to which a change is not told where nobody said what equal runs differ by."""
    if told.difference is None or told.equivalence is None or told.superiority is None:
        return Change.CANNOT_TELL, False, "one round on each side shows no noise: measure more rounds"
    if told.equivalence <= alpha:
        return Change.EQUIVALENT, False, None
    if told.difference > alpha:
        return Change.CANNOT_TELL, False, "the change is within the noise: more rounds would decide"
    if unknown is not None and abs(told.d) <= unknown:
        return Change.CANNOT_TELL, False, "the change is within the margin, and identical runs may vary by as much"
    return (Change.SLOWER if told.d < 0 else Change.FASTER), told.superiority <= alpha, None


def _numbers(cells: Sequence[Rounds]) -> Floats:
    """Cells × rounds × I/Os, IOPS and the times of `SHIFTS`; NaN is what a round does not have."""
    made = np.full((len(cells), max(len(rounds) for rounds in cells), 2 + len(SHIFTS)), np.nan)
    for i, rounds in enumerate(cells):
        made[i, : len(rounds)] = np.array([_NUMBERS(r) for r in rounds], dtype=np.float64)
    made[made <= 0] = np.nan
    return made


def _shifts(left: Floats, right: Floats, between: Noise) -> list[list[Fields]]:
    """Of every cell its `Shift`."""
    found: list[list[Fields]] = [[] for _ in left]
    ops = [np.nansum(side[:, :, 0], axis=1) for side in (left, right)]
    for place, percentile in enumerate(SHIFTS, 2):
        there = [side[:, :, place] for side in (left, right)]
        both = [~np.isnan(rounds).all(axis=1) for rounds in there]
        least = 0 if percentile == "mean" else needed(percentile)
        rows = np.flatnonzero(both[0] & both[1] & (np.minimum(*ops) >= least))
        if not rows.size:
            continue
        pair = _Pair(there[0][rows], there[1][rows], (between[0][rows], between[1][rows]))
        was, now = (np.exp(side.at) for side in (pair.a, pair.b))
        columns = was.tolist(), now.tolist(), pair.ratios(), pair.moved(was)
        for i, a_ns, b_ns, ratio, moved in zip(rows, *columns, strict=True):
            found[i].append({"percentile": percentile, "a_ns": a_ns, "b_ns": b_ns, "ratio": ratio, "moved_ns": moved})
    return found


def _adjusted(p: Floats, known: npt.NDArray[np.bool_]) -> list[float | None]:
    where = np.flatnonzero(known)
    made: list[float | None] = [None] * len(p)
    for i, value in zip(where, holm([float(p[i]) for i in where]), strict=True):
        made[i] = value
    return made


def _ends(at: Floats, half: Floats) -> Ends:
    """The value and the ends of the interval of logarithms; NaN where there is none."""
    value = np.exp(at)
    low, high = np.exp(np.maximum(at - half, -700.0)), np.exp(np.minimum(at + half, 700.0))
    return value, np.minimum(value, low), np.maximum(value, high)


def _estimates(ends: Ends, n: Floats, unit: str) -> list[Fields]:
    """One list of numbers each, as single ones out of an array take longer than what is done here."""
    none = np.isnan(ends[1]).tolist()
    rows = zip(*(end.tolist() for end in ends), n.astype(int).tolist(), none, strict=True)
    return [
        {"value": at, "low": None if no else below, "high": None if no else above, "n": rounds, "unit": unit}
        for at, below, above, rounds, no in rows
    ]
