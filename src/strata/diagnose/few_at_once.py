"""A queue in front of a layer: so many requests are let through at once, and each takes as long as it does below.

The layer below serves so many at once, each for one service time (Little's law over its own rows). With k let through
no row gives more than k ÷ that time. What one request alone takes longer here it spends in part while it holds one of
the k places (a thread that sends the answer), so no row gives less than k ÷ (both times). The limit is a whole number:
a cap on requests, whose rate is anybody's choice, mostly is none of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from strata import units
from strata.diagnose import times
from strata.diagnose.case import LEAST_EXPLAINED, MOST_PER_POINT, Case, Pair
from strata.diagnose.identity_key import IdentityKey
from strata.diagnose.models import MODEL_SD, Fit, LimitKind, bounded
from strata.diagnose.rows import Predicted
from strata.diagnose.view import Point, View
from strata.model.analysis import CellSummary
from strata.model.experiment import Condition, Experiment, Metric
from strata.model.workload import Workload

MOST = 8
"""Larger numbers lie so near to each other that any rate would be one of them."""
BINDS, LEAST_ROWS = 1.1, 2
"""It takes a tenth at least from a row that it holds back, and there are two of these."""
APART = 0.7
"""Of one request more or fewer, at most, by which a row may leave the number open."""
OFF = 1.25
"""What the straight line through two sizes may be off by at another one."""
MAY_BE = 6.0
"""How much better another shape may fit, in the units of `Fit.total`, before a queue need not be thought of."""


@dataclass(frozen=True)
class Served:
    """Of one direction: how many the layer below serves at once (at least), and the seconds by which one request alone
    takes longer at the layer itself."""

    at_once: float
    longer: float


@dataclass(frozen=True)
class Queue:
    """The number let through that fits best, and what it makes of every row that it can say something of.

    ``score``: as of `Fit`; ``explained`` and ``per_row`` likewise. ``binding``: the rows that it holds back.
    """

    count: int
    score: float
    explained: float
    rows: tuple[Predicted, ...]
    binding: frozenset[str]

    @property
    def acceptable(self) -> bool:
        """Whether it explains the loss and leaves no row far from its prediction."""
        return self.explained >= LEAST_EXPLAINED and self.score <= MOST_PER_POINT * len(self.rows)


def served(view: View, *, writes: bool) -> Served | None:
    """None where no pattern of that direction was measured one at a time and deeper."""
    mine = [p for p in view.everything if p.workload.rw.writes is writes and p.workload.rw.reads is not writes]
    alone = {p.pattern: p for p in mine if p.n == 1}
    deep = [p for p in mine if p.n > 1 and p.pattern in alone]
    if not deep:
        return None
    last = max(deep, key=lambda p: p.n)
    one = alone[last.pattern]
    below = _time_of_one(one.lower, one.x_below)
    return Served(max(1.0, last.x_below * below), max(0.0, _time_of_one(one.upper, one.x) - below))


def _time_of_one(cell: CellSummary, rate: float) -> float:
    """Seconds of one request alone, by their median: a busy machine holds some of them up for long."""
    middle = times.at(cell, 50)
    return 1 / rate if middle is None else min(1 / rate, middle / units.NS_PER_S)


def of(pair: Pair) -> Queue | None:
    """The best queue over this pair's rows; None where nothing tells how many are served at once without one."""
    view = pair.view
    known = {writes: served(view, writes=writes) for writes in (False, True)}
    rows = [(p, s) for p in view.points if _one_way(p) and (s := known[p.workload.rw.writes]) is not None]
    most = max((s.at_once for _, s in rows), default=1.0)
    tried = [_tried(count, rows) for count in range(1, MOST + 1) if count <= most - 0.5]
    affected = {p.key for p in view.affected}
    found = [q for q in tried if q.acceptable and len(q.binding & affected) >= LEAST_ROWS and _whole(q, rows)]
    return min(found, key=lambda q: q.score, default=None)


def lead(pair: Pair, queue: Queue, *shapes: LimitKind) -> float:
    """How much better the queue fits its rows than the best of these shapes (of all, where none is given)."""
    keys = [row.point.key for row in queue.rows]

    def of_rows(found: Fit) -> float:
        return float(sum(bounded(np.array([found.residual[key] for key in keys])))) + found.penalty

    return min(of_rows(f) for f in pair.fits if not shapes or f.shape in shapes) - queue.score


def _one_way(point: Point) -> bool:
    return point.workload.rw.reads is not point.workload.rw.writes


def _tried(count: int, rows: Iterable[tuple[Point, Served]]) -> Queue:
    made = tuple(_row(count, p, s) for p, s in rows)
    score, none = (float(sum(bounded(np.array(z)))) for z in ([_z(r) for r in made], [_alone(r.point) for r in made]))
    held = frozenset(r.point.key for r in made if r.point.n > count and r.high * BINDS < r.point.x_below)
    return Queue(count, score, max(0.0, 1 - score / none) if none > 0 else 0.0, made, held)


def _row(count: int, point: Point, known: Served) -> Predicted:
    service = _service(point, known)
    low = min(point.n / (point.cycle_below + known.longer), count / (service + known.longer))
    return Predicted(point, low, min(point.x_below, count / service))


def _service(point: Point, known: Served) -> float:
    """Seconds of one request at the layer below, where nobody waits for another."""
    return min(point.n, known.at_once) / point.x_below


def _z(row: Predicted) -> float:
    at = math.log(row.point.x)
    outside = max(math.log(row.low) - at, 0.0) - max(at - math.log(row.high), 0.0)
    return outside / math.hypot(row.point.sd, MODEL_SD)


def _alone(point: Point) -> float:
    return point.ratio_log / math.hypot(point.sd, MODEL_SD)


def _whole(queue: Queue, rows: Iterable[tuple[Point, Served]]) -> bool:
    """Whether one request more would give another figure in the rows that it holds: else any rate is a whole number."""
    wide = [s.longer / _service(p, s) for p, s in rows if p.key in queue.binding]
    return bool(wide) and queue.count * float(np.median(wide)) <= APART


def of_experiment(case: Case, layer: str, experiment: Experiment) -> tuple[float, float] | None:
    """What the queue of that layer makes of another block size or depth, in the experiment's metric."""
    plain = experiment.condition is Condition.NONE and experiment.reference_layer in (None, experiment.layer)
    if not plain or experiment.layer != layer or experiment.prediction.metric not in (Metric.IOPS, Metric.RATIO):
        return None
    for pair, point in case.rows(layer, experiment.reference):
        if (queue := of(pair)) is not None:
            now = _changed(pair.view, point, experiment.workload, queue.count)
            before = _changed(pair.view, point, point.workload, queue.count)
            if now is None or before is None or experiment.prediction.metric != Metric.RATIO:
                return now
            return now[0] / before[0], now[1] / before[1]
    return None


def _changed(view: View, point: Point, workload: Workload, count: int) -> tuple[float, float] | None:
    known = served(view, writes=point.workload.rw.writes)
    if known is None or not _one_way(point):
        return None
    quick, slow = service_of(view, point, known, workload)
    larger = max(1.0, workload.bs_moments[0] / point.bs)
    n, longer = workload.outstanding, known.longer * math.sqrt(larger)
    at_once = min(n, known.at_once)
    low = min(n / (slow * n / at_once + longer), count / (slow + longer))
    return low, min(at_once, count) / quick


def service_of(view: View, point: Point, known: Served, workload: Workload) -> tuple[float, float]:
    """Seconds of one request of another size at the layer below: by a straight line through two sizes of one pattern
    (± 20 % of what it adds), else between the same time and the same time for each byte."""
    service, size = _service(point, known), workload.bs_moments[0]
    if size == point.bs:
        return service, service
    each = per_byte(view)
    if each is None:
        same, share = service, service * size / point.bs
        return min(same, share), max(same, share)
    more = each * (size - point.bs)
    least = service * min(1.0, size / point.bs)
    ends = [max(least, service + part * more) for part in (0.8, 1.2)]
    return min(ends), max(ends)


def below(view: View, point: Point, workload: Workload, known: tuple[float, float]) -> tuple[float, float]:
    """IOPS that the layer below gives with ``workload``, of which ``known`` is certain: nearer where two sizes tell."""
    one = served(view, writes=point.workload.rw.writes) if _one_way(point) else None
    if one is None or workload.bs_moments[0] == point.bs or per_byte(view) is None:
        return known
    quick, slow = service_of(view, point, one, workload)
    at_once = min(workload.outstanding, one.at_once)
    low, high = at_once / slow / OFF, at_once / quick * OFF
    low, high = max(low, known[0]), min(high, known[1])
    return (low, high) if low <= high else known


def per_byte(view: View) -> float | None:
    """Seconds that each byte adds to a request at the layer below; None where no pattern was measured in two sizes."""
    return _per_byte(IdentityKey(view))


@lru_cache(maxsize=16)
def _per_byte(of: IdentityKey) -> float | None:
    (view,) = of.values
    assert isinstance(view, View)
    found = []
    for small in view.everything:
        for large in view.everything:
            if large.bs <= small.bs or not _one_way(small) or not _same_but_size(small, large):
                continue
            known = served(view, writes=small.workload.rw.writes)
            if known is not None:
                found.append((_service(large, known) - _service(small, known)) / (large.bs - small.bs))
    return max(0.0, float(np.median(found))) if found else None


def _same_but_size(one: Point, other: Point) -> bool:
    resized = other.workload.resized(one.bs / other.bs)
    return resized.key == one.workload.key
