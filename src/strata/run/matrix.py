"""A matrix as a state machine: visits in, the next ones out. No I/O, no clock.

First a few cells are started again and again (what differs between starts, for how long bins go together), then every
cell is visited once, then whatever is most worth it, batch after batch, until every cell is within the target (and a
share of them was visited twice, so that this can be believed) or the budget is used up. All of it follows from the
visits that were made, so a resumed matrix goes on where it was.

Within a batch, cells that only read come before those that write, and the layers of one workload stand next to each
other, so that what drifts meets them alike.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from strata.analyse.matrix.needed import still
from strata.analyse.matrix.next import VisitRequest, seen_once, visit_requests
from strata.analyse.matrix.predict import predict
from strata.analyse.matrix.starts import Spot, plausible
from strata.analyse.matrix.table import Filled, Theta, table_of
from strata.analyse.pooled import pooled
from strata.analyse.visit import Visit
from strata.model.matrix import BudgetPrediction, HeldOut, Known
from strata.model.noise import PooledNoise

ASSUMED = PooledNoise(
    variance_s=4e-4, spread_df=2.0, correlation_s=0.2, between=0.01, between_df=1.0, cells=0, seconds=0.0
)
"""Nothing known: 3 % between bins of 50 ms that go together for 0.2 s, 1 % between starts. No measurement."""

FLOOR_REPEATS = 3
FLOOR_SHARE = 0.03
"""Of the budget, for the noise floor; at most `FLOOR_MOST_S`."""
FLOOR_MOST_S = 20.0
BRIEF_SHARE = 0.55
"""Of the budget, for the first visit of every cell."""
BRIEF_MOST_S = 2.0
BRIEF_LEAST_S = 0.4
LONGEST_S = 5.0
BATCH_SHARE = 0.12
"""Of the budget: how much is decided at once, before the visits are looked at again."""


@dataclass(frozen=True)
class Ask:
    """Measure this cell for so many seconds, after its ramp. ``why``: floor, brief, more or kink."""

    cell: int
    seconds: float
    why: str


@dataclass
class Matrix:
    """``spots`` are the cells, ``writes`` which of them write, ``order`` the rank of their workload (equal for the
    layers of one workload), ``left_out`` those that cannot be measured. ``start_s`` is what a visit is taken to cost
    beside its length until that is known; ``known`` what is known of the machine's noise from before."""

    spots: Sequence[Spot]
    writes: Sequence[bool]
    order: Sequence[int]
    budget_s: float
    target: float
    start_s: float = 0.15
    seed: int = 1
    known: PooledNoise | None = None
    left_out: frozenset[int] = frozenset()
    visits: list[Visit] = field(default_factory=list)
    spent_s: float = 0.0
    predictions: list[BudgetPrediction] = field(default_factory=list)
    ended: str | None = None

    def __post_init__(self) -> None:
        self._failures: Counter[int] = Counter()
        self._starts: list[float] = []
        self._tries: Counter[int] = Counter()
        self._count = Counter(v.cell for v in self.visits)
        self._foretold: list[tuple[float, float]] = []
        self._filled: tuple[Filled, ...] = ()
        self._theta: Theta | None = None

    @property
    def least_s(self) -> float:
        """Seconds below which not every cell can be visited."""
        cells = len(self.spots) - len(self.left_out)
        return cells * (self.start_s + BRIEF_LEAST_S) / BRIEF_SHARE

    @property
    def brief_s(self) -> float:
        """Length of the first visit of a cell."""
        cells = max(1, len(self.spots) - len(self.left_out))
        return min(BRIEF_MOST_S, max(BRIEF_LEAST_S, BRIEF_SHARE * self.budget_s / cells - self.start_s))

    @property
    def _shortest_s(self) -> float:
        return max(BRIEF_LEAST_S, 0.75 * self.brief_s)

    @property
    def noise(self) -> PooledNoise:
        """As it is known now."""
        return pooled(self.visits, self.known) or self.known or ASSUMED

    def took(self, cell: int, visit: Visit | None, asked_s: float, seconds: float) -> None:
        """A visit is over after ``seconds``; None where it gave nothing."""
        self.spent_s += seconds
        self._tries[cell] += 1
        if visit is None:
            self._failures[cell] += 1
            return
        self._failures.pop(cell, None)
        self._starts.append(max(0.0, seconds - asked_s))
        if self._count[cell] == 1 and self._filled:
            told, own = self._filled[cell].smoothed, self._filled[cell].own
            if told is not None and own is not None:
                half = 1.96 * math.sqrt(own.between**2 + own.variance_s / visit.seconds)
                self._foretold.append((visit.level - told.alone, math.hypot(told.alone_half, half)))
        self.visits.append(visit)
        self._count[cell] += 1

    def over(self, why: str) -> None:
        """Somebody ends it."""
        self.ended = self.ended or why

    def begin(self) -> tuple[Ask, ...]:
        """The noise floor: visits of a few cells far from each other, in turn, what earlier ones gave left out."""
        spots = self._floor_cells()
        if not spots:
            return ()
        # A start costs its ramp too, and what lies between starts is worth more repeats than more seconds.
        each = min(FLOOR_MOST_S, FLOOR_SHARE * self.budget_s) / (FLOOR_REPEATS * len(spots)) - self.start_s
        seconds = min(1.6, max(BRIEF_LEAST_S, each))
        return tuple(
            Ask(i, seconds, "floor") for n in range(FLOOR_REPEATS) for i in spots if self._tried(i) <= n
        )  # fmt: skip

    def brief(self) -> tuple[Ask, ...]:
        """Every cell that was not visited yet, once."""
        self._learn()
        self.predictions.append(self.predict_budget(Known.FLOOR, self.noise))
        todo = [i for i in self._open() if not self._tried(i)]
        left = self.budget_s - self.spent_s
        seconds = self.brief_s
        if todo:
            seconds = min(seconds, max(BRIEF_LEAST_S, 0.9 * left / len(todo) - self.start_s))
        return self._sorted([Ask(i, seconds, "brief") for i in todo])

    def more(self) -> tuple[Ask, ...]:
        """The next batch; empty when it is over, and then `ended` says why."""
        if self.ended is not None:
            return ()
        self._learn()
        foretold = any(p.known_from is Known.BRIEF for p in self.predictions)
        left = self.budget_s - self.spent_s
        if left < BRIEF_LEAST_S + self.start_s:
            self.over("budget")
            return ()
        noise = self.noise
        self._filled, self._theta = table_of(self.spots, self.visits, noise, self._theta)
        if not foretold:
            told = self.predict_budget(Known.BRIEF, noise)
            self.predictions.append(told.model_copy(update=self._needed(noise)))
        batch = min(left, max(BATCH_SHARE * self.budget_s, 4 * (BRIEF_LEAST_S + self.start_s)))
        found = self._wishes(noise, batch)
        if not found:
            # What is reported is fitted anew: it must not be over before that, too, is near enough.
            self._filled, self._theta = table_of(self.spots, self.visits, noise)
            found = self._wishes(noise, batch)
        again = () if found else seen_once(self._filled, self._open())
        if again:
            number = max(1, int(batch / (self._shortest_s + self.start_s)))
            return self._sorted([Ask(i, min(self._shortest_s, left - self.start_s), "more") for i in again[:number]])
        if not found:
            self.over(self._why_over())
            return ()
        return self._sorted([self._ask(w) for w in found])

    def table(self) -> tuple[Filled, ...]:
        """Every cell as it stands, everything fitted anew."""
        return table_of(self.spots, self.visits, self.noise)[0]

    @property
    def held_out(self) -> HeldOut | None:
        """Second visits against what the other cells foretold."""
        if len(self._foretold) < 5:
            return None
        errors = sorted(abs(math.expm1(e)) for e, _ in self._foretold)
        inside = sum(abs(e) <= h for e, h in self._foretold) / len(errors)
        return HeldOut(
            cells=len(errors), error_median=errors[len(errors) // 2],
            error_p95=errors[min(len(errors) - 1, int(0.95 * len(errors)))], within_interval=inside,
        )  # fmt: skip

    def predict_budget(self, known_from: Known, noise: PooledNoise) -> BudgetPrediction:
        """What the budget will bring with this noise."""
        cells = len(self.spots) - len(self.left_out)
        return predict(
            noise, known_from, cells=cells, budget_s=self.budget_s, start_s=self.start_s, target=self.target,
            shortest=self._shortest_s, longest=LONGEST_S, brief=self.brief_s,
            starts=plausible(self.visits, noise, self.known),
        )  # fmt: skip

    def _wishes(self, noise: PooledNoise, seconds: float) -> list[VisitRequest]:
        return visit_requests(
            self._filled, noise, seconds=seconds, start_s=self.start_s, target=self.target, shortest=self._shortest_s,
            longest=LONGEST_S, left_out=frozenset(range(len(self.spots))) - frozenset(self._open()),
        )  # fmt: skip

    def _needed(self, noise: PooledNoise) -> dict[str, float | None]:
        """Seconds in all for the target in every cell, each with its own noise and what its neighbours bring it."""
        open_ = self._open()
        starts = plausible(self.visits, noise, self.known)
        told = still(
            [self._filled[i] for i in open_], [self.spots[i] for i in open_], self._theta or {}, starts, self.target,
            start_s=self.start_s, shortest=self._shortest_s, longest=LONGEST_S, spent_s=self.spent_s,
        )  # fmt: skip
        return {"seconds_for_target": told.seconds, "seconds_low": told.low, "seconds_high": told.high}

    def _why_over(self) -> str:
        """When no visit is worth its time any more."""
        halves = {i: self._filled[i].half for i in range(len(self.spots)) if i not in self.left_out}
        wide = {i for i, half in halves.items() if half is None or half > math.log1p(self.target)}
        if not wide:
            # Also where a cell failed after it had been narrow enough: what was asked is there.
            return "precision"
        return "budget" if wide & set(self._open()) else "cells that failed"

    def _ask(self, wish: VisitRequest) -> Ask:
        return Ask(wish.cell, wish.seconds, "kink" if wish.kink else "more")

    def _learn(self) -> None:
        if len(self._starts) >= 5:
            self.start_s = sorted(self._starts)[len(self._starts) // 2]

    def _tried(self, cell: int) -> int:
        return max(self._tries[cell], self._count[cell])

    def _open(self) -> list[int]:
        """Cells that can be measured: two failures in a row are enough, also of one that was visited before."""
        return [i for i in range(len(self.spots)) if i not in self.left_out and self._failures[i] < 2]

    def _floor_cells(self) -> list[int]:
        """Shallow and small, deep and small, deep and large, of what reads; and one that writes."""
        some = self._open()
        first = [i for i in some if self.spots[i].group == min(self.spots[j].group for j in some)] if some else []
        reads = [i for i in first if not self.writes[i]] or first
        corners = [(0, 0, reads), (1, 0, reads), (1, 1, reads), (0.5, 0, [i for i in first if self.writes[i]])]
        return list(dict.fromkeys(self._near(of, deep, large) for deep, large, of in corners if of))

    def _near(self, of: Sequence[int], deep: float, large: float) -> int:
        depths = sorted({self.spots[i].depth for i in of})
        sizes = sorted({self.spots[i].size for i in of})
        depth, size = depths[round(deep * (len(depths) - 1))], sizes[round(large * (len(sizes) - 1))]
        there = [i for i in of if self.spots[i].depth == depth and self.spots[i].size == size] or list(of)
        # The last of the patterns: random ones say more of the medium than sequential ones.
        return there[-1]

    def _sorted(self, asks: list[Ask]) -> tuple[Ask, ...]:
        rng = random.Random(f"{self.seed}:{len(self.visits)}")
        shuffled = {rank: rng.random() for rank in sorted({self.order[a.cell] for a in asks})}
        turn = rng.random() < 0.5

        def place(a: Ask) -> tuple[bool, float, int]:
            group = self.spots[a.cell].group
            return self.writes[a.cell], shuffled[self.order[a.cell]], -group if turn else group

        return tuple(sorted(asks, key=place))
