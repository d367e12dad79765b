"""Real endpoints: a long reference of every cell, the matrix in a fraction of the time, and fixed seconds a cell
beside it.

The reference is measured in passes, before and after everything else and, where asked, between the visits of a matrix,
each in an order of its own; its interval is that of the starts of a cell and of the bins in them. A cell's stated
interval covers the reference where they differ by no more than both intervals, squared and added.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matrixbench.grounds import SIZE, Ground
from strata.analyse.pooled import cell_noise, correlation
from strata.analyse.visit import Visit, visit_from, visit_of
from strata.app.driver import run_sampled
from strata.app.matrix import measure_matrix
from strata.app.matrix_plan import MatrixWords
from strata.app.options import Options
from strata.app.safety_gate import opened
from strata.app.sampling_scope import SamplingScope
from strata.engine import Request, Timing, engine_of
from strata.engine.cell import prepare_cell
from strata.host import testfile
from strata.host.heldfile import HeldFile
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.matrix import MatrixResult
from strata.model.plan import Segment
from strata.model.progress import Progress
from strata.model.workload import Sync
from strata.plan.matrix import matrix_of

RAMP_S = 0.1
BIN_S = 0.05
STEADY_DF = 6
Passes = Sequence[Sequence[Visit | None]]
"""Each holds one visit of every cell; None where it gave nothing."""


@dataclass(frozen=True)
class Truth:
    """log IOPS of a cell by the reference, and half of its 95 % interval."""

    level: float
    half: float


class Bench:
    """One endpoint, held open from the first reference to the last."""

    def __init__(self, at: Ground, matrix: str, store: Path, say: Callable[[str], None]) -> None:
        self.at, self.matrix, self._store, self._say = at, matrix, store, say
        sync = Sync.NONE
        self.workloads = matrix_of(matrix, direct=not at.buffered, sync=sync, read_only=False)[1]
        self._writing = {w.label for w in self.workloads if w.rw.writes}
        self._engine = engine_of("native")
        self._endpoint = Endpoint.parse(at.uri)
        self._held: HeldFile | None = None

    @contextmanager
    def open(self) -> Iterator[None]:
        """The file is made once and stays for all that is measured."""
        most = next((w for w in self.workloads if w.rw.writes), self.workloads[0])
        made = self._endpoint.kind is EndpointKind.FILE
        with opened(self._endpoint, most, SIZE, made, self.at.destructive) as target:
            self._segments: tuple[Segment, ...] = target.segments
            if not made:
                yield
                return
        # Without its lock: the matrix takes the same file in hand while visits of the reference stand between its own.
        with testfile.own(str(self._endpoint.path), lock=False) as self._held:
            try:
                yield
            finally:
                self._held.remove()

    def fixed(self, seconds: float, seed: int) -> list[Visit | None]:
        """Every cell once for so many seconds, in an order of its own, reads first."""
        order = list(range(len(self.workloads)))
        random.Random(seed).shuffle(order)
        order.sort(key=lambda i: self.workloads[i].rw.writes)
        found: list[Visit | None] = [None] * len(order)
        for i in order:
            found[i] = self.visit(i, seconds, seed)
        return found

    def matrix_in(
        self, budget_s: float, until: float | None = None, between: Between | None = None
    ) -> tuple[MatrixResult, float]:
        """As a user would have it measured, and how long it took, what stands ``between`` its visits not counted; with
        ``until``, that half-width is asked of every cell. Raises `InconclusiveError` where the noise floor forbids it.
        """
        self._say(
            f"matrix in {budget_s:.0f} s" if until is None else f"matrix until ±{until:.2%}, at most {budget_s:.0f} s"
        )
        words = MatrixWords(
            matrix=self.matrix, budget_s=budget_s, until=until, buffered=self.at.buffered, sync=Sync.NONE,
            ramp_s=RAMP_S, destructive=self.at.destructive,
        )  # fmt: skip
        options = Options(size=SIZE, store=f"sqlite:///{self._store}", load_seconds=0.0)

        def visited(told: Progress) -> None:
            if between is not None and told.finished and told.seconds_left is not None:
                between.until(1 - told.seconds_left / budget_s, writes=told.label in self._writing)

        if self._held is not None:
            self._held.settle()
        begin = time.monotonic()
        result = measure_matrix(self.at.uri, words, options, visited)
        return result, time.monotonic() - begin - (0.0 if between is None else between.took_s)

    def visit(self, i: int, seconds: float, seed: int) -> Visit | None:
        """One cell once; None where it gave nothing."""
        request = Request(
            endpoint=self._endpoint, workload=self.workloads[i], segments=self._segments, round_index=seed,
            timing=Timing(ramp_s=RAMP_S, runtime_s=seconds, interval_s=BIN_S),
        )  # fmt: skip
        # With the counters that every measurement reads: at depth 1 they cost some tenths of a percent.
        result, _ = run_sampled(
            self._engine, prepare_cell(request), SamplingScope(), lambda _interval, _glance: None, lambda: False
        )
        return visit_of(i, result.intervals)


class Between:
    """Passes of the reference whose visits stand between those of a matrix, evenly over its budget: so both see the
    same machine. Visits that write stand next to those that write."""

    def __init__(self, bench: Bench, seconds: float, passes: int) -> None:
        self._bench, self._seconds = bench, seconds
        self.passes: list[list[Visit | None]] = [[None] * len(bench.workloads) for _ in range(passes)]
        self.took_s = 0.0
        self._todo: dict[bool, list[tuple[int, int]]] = {}
        self._next = {False: 0, True: 0}
        for writes in (False, True):
            cells = [i for i, w in enumerate(bench.workloads) if w.rw.writes == writes]
            orders = [random.Random(2001 + n).sample(cells, len(cells)) for n in range(passes)]
            self._todo[writes] = [(n, i) for n, order in enumerate(orders) for i in order]

    def until(self, share: float, *, writes: bool) -> None:
        """What is due when so much of the budget is used up."""
        begin = time.monotonic()
        todo = self._todo[writes]
        while self._next[writes] < min(len(todo), round(share * len(todo))):
            number, cell = todo[self._next[writes]]
            self._next[writes] += 1
            self.passes[number][cell] = self._bench.visit(cell, self._seconds, 2001 + number)
        self.took_s += time.monotonic() - begin

    def rest(self) -> Passes:
        """Every pass, what the matrix did not come to measured now."""
        for writes in (False, True):
            self.until(1.0, writes=writes)
        return self.passes


def truth_of(before: Passes, after: Passes, alike: Sequence[Hashable]) -> list[Truth | None]:
    """The reference of each cell from its passes, at least one on each side of what is judged.

    A cell's starts say what equal starts of it differ by, steadied by the median over the cells that are ``alike``,
    which counts for `STEADY_DF` degrees of freedom: equal starts of a shallow cell differ by ten times as much as those
    of a cell that keeps every server busy.
    """
    from scipy.stats import chi2, t

    cells = [[v for v in every if v is not None] for every in zip(*before, *after, strict=True)]
    _, stretch = correlation([v for some in cells for v in some])
    df = len(before) + len(after) - 1
    own = [float(np.var([v.level for v in some], ddof=1)) if len(some) > df else math.nan for some in cells]
    kinds = {kind: [v for v, k in zip(own, alike, strict=True) if k == kind and not math.isnan(v)] for kind in alike}
    shared = {k: float(np.median(some)) * df / float(chi2.median(df)) for k, some in kinds.items() if some}
    found: list[Truth | None] = []
    for cell, some in enumerate(cells):
        noise = cell_noise(some, stretch)
        if len(some) <= df or noise is None:
            found.append(None)
            continue
        start = (df * own[cell] + STEADY_DF * shared[alike[cell]]) / (df + STEADY_DF)
        variance = max(noise.variance_s / sum(v.seconds for v in some), start / len(some))
        wide = float(t.ppf(0.975, df + STEADY_DF)) * math.sqrt(variance)
        first, last = (float(np.mean([v.level for v in side])) for side in (some[: len(before)], some[len(before) :]))
        # Where one side was disturbed the other is right: no more is known than that the truth is one of the two.
        found.append(Truth((first + last) / 2, max(wide, abs(first - last) / 2)))
    return found


def shortened(visit: Visit | None, seconds: float) -> float | None:
    """log IOPS of the first seconds of a fixed measurement."""
    if visit is None:
        return None
    first = visit_from(visit.cell, visit.rates[: round(seconds / visit.bin_s)], visit.bin_s)
    return None if first is None else first.level
