"""What stands of a run that is measured, kept up to date point by point: a look costs what is new, not all that was."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from strata import units
from strata.model.estimate import Estimate
from strata.model.live import LiveCell, LiveHead, LivePoint, LiveRate, LiveRun
from strata.model.progress import Phase, Progress, StandingCause

SHOWN_RATES = 240
"""Points of a chart: a point for each pixel and a half. More would take a tenth of a CPU to draw twice a second."""
RATES_MOST = 10_000
"""Rates that are kept with times, and as many without: a record has fewer."""
POOLED_LEAST = 3
"""Degrees of freedom from which on what cells differ by is known together."""
FAILED_MOST = 5

Cell = tuple[Phase, int | None, str | None, str | None]
Place = tuple[str, str]
"""A layer and the label of a workload."""


def cell_of(p: Progress) -> Cell:
    """What is measured: the rates of one are no rates of the next."""
    return p.phase, p.step, p.layer, p.label


@dataclass
class _Rounds:
    """The finished rounds of a cell; ``mean`` and ``squares`` are those of their logarithms (Welford 1962)."""

    values: list[float] = field(default_factory=list)
    mean: float = 0.0
    squares: float = 0.0
    positive: bool = True

    def add(self, value: float) -> None:
        self.values.append(value)
        self.positive = self.positive and value > 0
        if self.positive:
            off = math.log(value) - self.mean
            self.mean += off / len(self.values)
            self.squares += off * (math.log(value) - self.mean)


class RunSoFar:
    """Of one run."""

    def __init__(self, head: LiveHead) -> None:
        self.head = head
        self._last: LivePoint | None = None
        self._cell = 0
        self._of: Cell | None = None
        self._rates: tuple[deque[tuple[LivePoint, int]], ...] = (deque(maxlen=RATES_MOST), deque(maxlen=RATES_MOST))
        self._finished: dict[Place, _Rounds] = {}
        self._cells: tuple[LiveCell, ...] | None = ()
        self._failed: dict[str, None] = {}
        self._standing: tuple[StandingCause, ...] = ()
        self._experiment: str | None = None

    def take(self, point: LivePoint) -> None:
        """One moment more."""
        p, self._last = point.progress, point
        if p.standing:
            self._standing, self._experiment = p.standing, p.message
        if p.error:
            self._failed[" · ".join(filter(None, (p.layer, p.label, p.error)))] = None
            while len(self._failed) > FAILED_MOST:
                del self._failed[next(iter(self._failed))]
        if p.layer is None or p.label is None:
            return
        if (now := cell_of(p)) != self._of:
            self._cell, self._of = self._cell + 1, now
        if p.iops is None or p.error is not None:
            return
        if p.finished and p.phase is not Phase.CONFIRM:
            self._finished.setdefault((p.layer, p.label), _Rounds()).add(p.iops)
            self._cells = None
        self._rates[p.p50_ns is None].append((point, self._cell))

    def run(self) -> LiveRun:
        """What stands now."""
        if self._cells is None:
            spread = self._pooled()
            self._cells = tuple(LiveCell(layer=layer, label=label, iops=_estimate(rounds.values, spread))
                                for (layer, label), rounds in self._finished.items())  # fmt: skip
        last = self._last
        return LiveRun(
            head=self.head,
            last=last.number if last else 0,
            now=last.progress if last else None,
            seconds=self._second(last) if last else 0.0,
            failed=tuple(self._failed),
            cells=self._cells,
            rates=self._thinned(),
            standing=self._standing,
            experiment=self._experiment,
        )

    def _second(self, point: LivePoint) -> float:
        return (point.at_unix_ns - self.head.began_unix_ns) / units.NS_PER_S

    def _pooled(self) -> float | None:
        """What rounds of one cell differ by, on logarithms, over all cells; None with too few. Two rounds alone say
        next to nothing of it."""
        cells = [one for one in self._finished.values() if len(one.values) > 1 and one.positive]
        freedom = sum(len(one.values) - 1 for one in cells)
        if freedom < POOLED_LEAST:
            return None
        return math.sqrt(sum(one.squares for one in cells) / freedom)

    def _thinned(self) -> tuple[LiveRate, ...]:
        """About `SHOWN_RATES`. Those with times and those without come in turn where cells are brief: each kind is
        thinned by itself, so that neither is gone."""
        step = -(-sum(map(len, self._rates)) // SHOWN_RATES) or 1
        kept = (one for kind in self._rates for one in islice(kind, (len(kind) - 1) % step if kind else 0, None, step))
        return tuple(self._rate(*one) for one in sorted(kept, key=lambda one: one[0].number))

    def _rate(self, point: LivePoint, cell: int) -> LiveRate:
        """Only of what is shown: most points are not."""
        p = point.progress
        assert p.layer is not None and p.iops is not None
        return LiveRate(
            second=self._second(point), layer=p.layer, cell=cell, iops=p.iops, bytes_per_second=p.bytes_per_second,
            p50_ns=p.p50_ns, p99_ns=p.p99_ns,
        )  # fmt: skip


def _estimate(values: Sequence[float], spread: float | None) -> Estimate:
    # The numerical libraries are loaded by who watches, not by who measures.
    from strata.analyse.stats import estimate

    return estimate(values, "IOPS", spread)
