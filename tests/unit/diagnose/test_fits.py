"""The models by another way: a station by its recursion, and ways of fitting one at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from strata.diagnose import diagnose
from strata.diagnose.case import Case
from strata.diagnose.models import LimitDirection, LimitKind, fit, fit_all, own_part, predict, with_delay
from strata.diagnose.predict import of_shape
from strata.diagnose.variants import reshape
from strata.model.analysis import CellSummary
from strata.model.experiment import Metric
from strata.model.finding import Cause

from .known import OVER_NBD, SCENES, TWO
from .queueing import Path
from .scenes import demo_stack, simulate


def by_mean_values(n: int, think: float, service: float) -> float:
    """Exact mean value analysis of one exponential station (Reiser, Lavenberg 1980)."""
    queue = rate = 0.0
    for k in range(1, n + 1):
        rate = k / (think + service * (1 + queue))
        queue = rate * service * (1 + queue)
    return rate


@pytest.mark.parametrize("base", [0.0, 1e-4])
def test_a_station_serves_what_mean_value_analysis_says(base: float) -> None:
    scene = SCENES["everyday"]
    (view, *_) = (pair.view for pair in Case(scene.stack, scene.analysis(seed=1, sd=0.03)).pairs)
    services = np.geomspace(1e-9, 1e3, 60)
    for point in view.points:
        low, high = predict(view, point, LimitKind.SERIAL, LimitDirection.BOTH, parameter=services, base=base)
        asymptote = np.minimum(with_delay(view, point, base + services)[1], 1 / services)
        expected = [by_mean_values(point.n, point.cycle_below + base, s) for s in services]
        assert high == pytest.approx(asymptote, rel=1e-12)
        assert low == pytest.approx(np.minimum(expected, asymptote), rel=1e-12), point.key
    assert max(p.n for p in view.points) >= 32


@pytest.mark.parametrize(("depth", "waits"), [(0.5, True), (2.0, True), (0.125, False)])
def test_a_request_may_wait_for_the_trip_of_the_one_before_it_where_there_is_one(depth: float, waits: bool) -> None:
    """Seen live at half the depth: 184 IOPS where one trip of 10.6 ms allows 198 and more, which refuted the delay."""
    scene = SCENES["far-wire"]
    pair = next(p for p in Case(scene.stack, scene.analysis(seed=1, sd=0.01)).pairs if p.view.layer.name == "path")
    point = next(p for p in pair.view.points if p.key == "randread-8KiB-qd8")
    found = pair.shape(LimitKind.DELAY)
    changed = reshape(point.workload, depth=depth)
    one, two = (of_shape(pair, replace(found, times=n), point, changed, Metric.IOPS) for n in (1, 2))
    assert one is not None and two is not None
    assert (two[0] < 0.7 * one[0]) is waits and two[1] == pytest.approx(one[1])


@pytest.mark.parametrize("name", [*TWO, "slow-wire-writes", "reordering"])
def test_ways_that_are_searched_side_by_side_are_found_as_each_by_itself(name: str) -> None:
    scene = TWO.get(name) or SCENES[name]
    (view, *_) = (pair.view for pair in Case(scene.stack, scene.analysis(seed=1, sd=0.10)).pairs)
    assert {p.workload.rw.writes for p in view.points} == {True, False}
    best, *others = fit_all(view)
    # A limit of writes alone, or beside a constant time: not what is searched first.
    assert (best.scope, best.base > 0) == (LimitDirection.BOTH if name in TWO else LimitDirection.WRITES, name in TWO)
    for found in (best, *others):
        alone = fit(view, found.shape, found.scope, found.base)
        assert alone == found
        bases = {0.0} if found.shape is LimitKind.DELAY else {0.0, best.base}
        for scope in LimitDirection:
            assert all(fit(view, found.shape, scope, base).total >= found.total for base in bases)


@pytest.mark.parametrize("shape", [LimitKind.CAP, LimitKind.BANDWIDTH])
def test_a_limit_takes_no_more_than_it_does_together_with_a_time(shape: LimitKind) -> None:
    """Where the layer below was by chance quicker with fewer at once, a time that leaves fewer to it seems to give."""
    scene, times = TWO["far-and-slow-wire"], {"randread-8KiB-qd8": 2.0, "randread-8KiB-qd32": 0.7}
    analysis = scene.analysis(seed=1, sd=0.02)

    def by_chance(cell: CellSummary) -> CellSummary:
        by = times.get(cell.workload.key, 1.0) if cell.layer == "direct" else 1.0
        iops = {k: getattr(cell.iops, k) * by for k in ("value", "low", "high")}
        return cell.model_copy(update={"iops": cell.iops.model_copy(update=iops)})

    chance = analysis.model_copy(update={"cells": tuple(map(by_chance, analysis.cells))})
    (view, *_) = (pair.view for pair in Case(scene.stack, chance).pairs)
    found = fit(view, shape, LimitDirection.BOTH, base=1e-3)
    parts = {p.key: own_part(view, [p], found) for p in view.points}
    assert all(0 <= part <= 1 for part in parts.values()), parts
    assert parts["randread-8KiB-qd32"] == 1


@pytest.mark.parametrize("delay", [1.5e-3, 2e-3, 3e-3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_delay_may_hide_where_more_are_outstanding_than_the_medium_serves_at_once(delay: float, seed: int) -> None:
    """Four of eight are enough to keep the medium busy: a line between what one and what eight give says otherwise."""
    stack, four = demo_stack(), Path(base=20e-6, servers=4, service=2.4e-3)
    paths = {"direct": four, "path": replace(four, base=OVER_NBD, delay=delay)}
    analysis = simulate(stack, paths, seed=seed, sd=0.03, trips={"direct": 4e-5, "path": 45e-6})
    (view, *_) = (pair.view for pair in Case(stack, analysis).pairs)
    found = fit(view, LimitKind.DELAY, LimitDirection.BOTH)
    assert found.parameter == pytest.approx(delay + OVER_NBD, rel=0.2)
    assert max(map(abs, found.residual.values())) < 3
    assert diagnose(stack, analysis).verdict.cause is Cause.PER_REQUEST_COST
