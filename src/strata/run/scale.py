"""A sweep as a strategy: the ladder once, points where the curve bends, rounds until it is narrow, then open loops.

What comes next follows from the results alone, so that a resumed sweep goes on where it was. Every round has all of its
points in an order of its own, and the layers of one point next to each other: what drifts meets them alike. Where a
command makes the points, which takes longer than to measure one, a round goes through them upward and the next one
downward: each change is made once for all layers, and what drifts evenly still meets all points alike.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence

from strata.analyse.scaling.fitted import Fitted, LoadPoint, fitted
from strata.analyse.scaling.result import ROUNDS, closed, counted_rounds, load_of, value_of
from strata.analyse.stats import estimate
from strata.model.axis import Axis
from strata.model.plan import Cell, Plan, Step
from strata.model.progress import Phase, Progress
from strata.model.result import CellResult
from strata.model.run import RunStatus
from strata.model.scale import ScaleAsk
from strata.model.workload import OpenLoop
from strata.model.workload_options import OPEN_DEPTH
from strata.run.execute import (
    Emit,
    Finish,
    Instruction,
    Measure,
)
from strata.run.judge import cut_short, ended
from strata.run.stepwise import Stepwise

LOOKS = 1
"""Rounds of every point before those that count: how fast it is, and where the curve bends."""
BENDS = (0.5, 0.71, 1.0, 1.41, 2.0)
"""Of the knee that the ladder shows: where points are added."""
APART = 1.15
"""Times that two neighbours differ at least; nearer ones would say the same."""
OPEN_SHARES = (0.5, 0.8, 0.9, 1.0, 1.2)
"""Of the fitted limit: arrivals below, at and beyond it."""
OPEN_ROUNDS = 3
OPEN_PART = 0.2
"""Of the budget, for the open loops."""
LEAST_IOS = 150
"""Of a point's further rounds: with few I/Os the spread of the rounds is that of their number."""
LEAST_IOS_OF_A_CACHE = 600
"""The same for a working set: a hit and a miss differ so much that an I/O's time varies twice as far."""
LONGEST_S = 3.0
LOOK_S = 0.2
WRITTEN_UP = "byte bound reached: no more writing"
CELLS = Callable[[str, int], Cell | None]
"""None: there is no such point."""


class Sweep(Stepwise):
    """``cell`` gives that of a layer and a value of the axis; ``kept`` are the results of a resumed sweep.

    `plan` grows as points are added; whoever carries it out keeps it before it is measured.
    """

    def __init__(
        self,
        plan: Plan,
        ask: ScaleAsk,
        cell: CELLS,
        kept: Sequence[CellResult],
        clock: Callable[[], float],
    ) -> None:
        super().__init__(kept)
        self.plan = plan
        self._ask, self._make, self._clock = ask, cell, clock
        # What failed, as where clients were lost, is measured again; what it wrote counts.
        self._results = [r for r in kept if r.error is None and r.result is not None and not cut_short(r.result)]
        self._written = sum(r.result.write.bytes for r in kept if r.result is not None)
        self._spent = sum(r.result.seconds + plan.ramp_s for r in self._results if r.result is not None)
        self._since = clock()
        self._queue: list[Cell] = []
        self._at: int | None = None
        self._change_s = 0.0
        self.ended = ""

    def changed(self, seconds: float) -> None:
        """Making a point took so long."""
        self._change_s = max(self._change_s, seconds)

    @property
    def seconds_left(self) -> float:
        """Of the budget."""
        return self._ask.budget_s - self._spent - (self._clock() - self._since)

    def runtime_s(self, cell: Cell) -> float:
        """Seconds of its next round: as planned, longer where so few I/Os are done in that time."""
        rates = self._rates(cell)
        if not rates or sum(rates) <= 0:
            return min(self.plan.runtime_s, LOOK_S)
        least = LEAST_IOS_OF_A_CACHE if self._ask.axis is Axis.RANGE else LEAST_IOS
        # Whole tenths of a second: a CPU quota is one for each of them.
        wanted = math.ceil(least * len(rates) / sum(rates) * 10) / 10
        return max(self.plan.runtime_s, min(wanted, LONGEST_S))

    def ramp_s(self, cell: Cell) -> float:
        """Seconds before its next round counts: as planned; of a working set until all of it was read once."""
        length = cell.workload.range.length if cell.workload.range is not None else None
        if self._ask.axis is not Axis.RANGE or not length:
            return self.plan.ramp_s
        rates = self._rates(cell)
        fills = length / cell.workload.bs * len(rates) / sum(rates) if rates and sum(rates) > 0 else LONGEST_S
        return min(LONGEST_S, max(self.plan.ramp_s, fills))

    def _took(self, result: CellResult) -> tuple[Instruction, ...]:
        self._results.append(result)
        self._written += 0 if result.result is None else result.result.write.bytes
        return (Emit(ended(self.told, result)), *self._next())

    def _next(self) -> tuple[Instruction, ...]:
        if not self._queue:
            self._queue = self._batch()
        if self._queue and self._written_up(self._queue[0]):
            self.ended = WRITTEN_UP
            return (Finish(RunStatus.DONE),)
        if not self._queue:
            return (Finish(RunStatus.DONE),)
        self._cell = cell = self._queue.pop(0)
        self._at = value_of(cell, self._ask.axis)
        self._step = Step(order=self._order, round=self._rounds[cell.key], cell=cell.key)
        self.told = Progress(
            phase=Phase.MEASURE, layer=cell.layer, label=cell.workload.label,
            step=len(self._results) + 1, steps=len(self._results) + 1 + len(self._queue),
            seconds_left=max(0.0, self.seconds_left),
        )  # fmt: skip
        return (Emit(self.told), Measure(self._step, cell))

    def _written_up(self, cell: Cell) -> bool:
        """Whether it would write beyond what the plan announced."""
        return cell.workload.rw.writes and self._written >= self.plan.bytes_written

    @property
    def _counted(self) -> Counter[str]:
        return Counter(r.cell for r in self._results)

    def _batch(self) -> list[Cell]:
        """The next round, in its order; empty where the sweep is over."""
        rounds, points = self._counted, closed(self.plan)
        if missing := [c for c in points if not rounds[c.key]]:
            return self._ordered(missing, 0)
        if not self._ask.axis.size and self._add_bends(points):
            return self._ordered([c for c in closed(self.plan) if not rounds[c.key]], 0)
        few = [c for c in points if rounds[c.key] < ROUNDS and self._measured(c)]
        few = few or self._in_place_of_looks(points, rounds)
        if few:
            return self._ordered(few, min(rounds[c.key] for c in few))
        if self._ask.open_loop and self._ask.axis.load and (cells := self._open(rounds)):
            return self._ordered(cells, max(rounds[c.key] for c in cells))
        wide = [c for c in points if self._measured(c) and self._width(c) > self._ask.target]
        if not wide:
            self.ended = "every point is within the target"
            return []
        if self.seconds_left < self._step_s * len(wide):
            self.ended = "budget"
            return []
        return self._ordered(wide, max(rounds[c.key] for c in wide))

    def _in_place_of_looks(self, points: Sequence[Cell], rounds: Counter[str]) -> list[Cell]:
        """Points that need one round more for the look not to count, if the budget has room beside the open loops."""
        few = [c for c in points if rounds[c.key] < LOOKS + ROUNDS and self._measured(c)]
        kept = OPEN_PART * self._ask.budget_s if self._ask.open_loop else 0.0
        return few if self.seconds_left > kept + self._step_s * len(few) else []

    @property
    def _step_s(self) -> float:
        return self.plan.ramp_s + self.plan.runtime_s + self._change_s / len(self.plan.stack.layers)

    def _ordered(self, cells: Sequence[Cell], number: int) -> list[Cell]:
        if self._ask.axis.commanded:
            return self._in_turn(cells)
        rng = random.Random(f"{self.plan.seed}/{number}")
        by: dict[str, list[Cell]] = {}
        for c in cells:
            by.setdefault(f"{c.workload.key} {c.at}", []).append(c)
        keys = list(by)
        rng.shuffle(keys)
        return [c for key in keys for c in rng.sample(by[key], len(by[key]))]

    def _in_turn(self, cells: Sequence[Cell]) -> list[Cell]:
        """By value, from the end that is nearer to where the stack is."""
        values = sorted({value_of(c, self._ask.axis) for c in cells})
        down = self._at is not None and abs(self._at - values[-1]) < abs(self._at - values[0])
        return sorted(cells, key=lambda c: value_of(c, self._ask.axis), reverse=down)

    def _rates(self, cell: Cell) -> list[float]:
        mine = [r for r in self._results if r.cell == cell.key and r.error is None and r.result is not None]
        return [r.result.iops for r in counted_rounds(mine) if r.result is not None]

    def _measured(self, cell: Cell) -> bool:
        return bool(self._rates(cell))

    def _width(self, cell: Cell) -> float:
        found = estimate(self._rates(cell), "IOPS")
        return math.inf if found.half_width is None else found.half_width / found.value

    def _fit(self, layer: str) -> Fitted | None:
        points = []
        for c in closed(self.plan):
            if c.layer == layer and (rates := self._rates(c)):
                points.append(LoadPoint(load_of(c, self._ask.axis), sum(rates) / len(rates)))
        found = fitted(points, draws=2)
        return found if isinstance(found, Fitted) else None

    def _add_bends(self, points: Sequence[Cell]) -> bool:
        """Points around the knee of each layer, in all layers; whether any was added."""
        if any(c.key not in {s.cell for s in self.plan.steps} for c in points):
            # They were added before.
            return False
        there = sorted({value_of(c, self._ask.axis) for c in points})
        wanted: set[int] = set()
        for layer in self.plan.stack.layers:
            fit = self._fit(layer.name)
            knee = None if fit is None else fit.knee()
            if knee is None or not there:
                continue
            per = load_of(points[0], self._ask.axis) / value_of(points[0], self._ask.axis)
            for share in BENDS:
                n = max(1, round(share * knee.value / per))
                apart = all(max(n / m, m / n) >= APART for m in (*there, *wanted))
                if there[0] < n < there[-1] and apart and self._make(layer.name, n) is not None:
                    wanted.add(n)
        if not wanted:
            return False
        made = [self._make(layer.name, n) for n in sorted(wanted) for layer in self.plan.stack.layers]
        cells = [c for c in made if c is not None]
        self.plan = self.plan.model_copy(update={"cells": (*self.plan.cells, *cells)})
        return True

    def _open(self, rounds: Counter[str]) -> list[Cell]:
        """Arrivals at shares of each layer's limit; added once the closed loops tell it."""
        cells = [c for c in self.plan.cells if isinstance(c.workload.arrival, OpenLoop)]
        if not cells:
            if self._ask.budget_s * OPEN_PART < self._step_s or self.seconds_left < self._step_s:
                return []
            cells = [c for layer in self.plan.stack.layers for c in self._arrivals(layer.name)]
            self.plan = self.plan.model_copy(update={"cells": (*self.plan.cells, *cells)})
        tried = Counter(r.cell for r in self._results)
        return [c for c in cells if rounds[c.key] < OPEN_ROUNDS and tried[c.key] < OPEN_ROUNDS]

    def _arrivals(self, layer: str) -> list[Cell]:
        fit = self._fit(layer)
        most = None if fit is None else fit.curve.most
        if fit is None or most is None or fit.knee() is None:
            return []
        # A bound on I/Os in flight, so that arrivals beyond the limit do not pile up without end.
        cell = self._make(layer, self._ask.values[0])
        assert cell is not None, "the ladder was planned"
        first = cell.workload
        at = max(1, round(OPEN_DEPTH / (first.threads * first.clients)))
        made = [
            first.model_copy(
                update={"arrival": OpenLoop(iops=float(f"{share * most:.4g}"), process="poisson", iodepth=at)}
            )
            for share in OPEN_SHARES
        ]
        return [Cell(layer=layer, workload=w) for w in made]


def ladder(least: int, most: int) -> tuple[int, ...]:
    """Doublings from the least to the most, both in it."""
    found = [least]
    while found[-1] * 2 < most:
        found.append(found[-1] * 2)
    return (*found, most) if most > least else tuple(found)
