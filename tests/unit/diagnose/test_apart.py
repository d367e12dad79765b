"""Limits over a layer that stands still at times are seen in the rates between these times."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from tiers import rest_in_ci

from strata.analyse.compare import equivalence
from strata.diagnose import diagnose
from strata.diagnose.apart import between_episodes
from strata.diagnose.case import Case
from strata.diagnose.layers import by_themselves
from strata.diagnose.models import LimitKind
from strata.diagnose.opinion import Opinion
from strata.diagnose.predict import predicted, slack
from strata.model.analysis import Analysis, CellSummary, Comparison
from strata.model.estimate import Estimate
from strata.model.experiment import Experiment, Metric, Prediction
from strata.model.finding import Cause
from strata.model.steadiness import Episodes, Steadiness, Tail

from .known import MIB, Scene, everyday
from .test_counters_named import segments

SLOW_WIRE, HEALTHY = everyday(wire=20.0 * MIB), everyday()
HELD = 0.7
"""Of the time, in which the disk does nothing."""

Met = Callable[[CellSummary], float]


def stalled(scene: Scene, met: Met, seed: int = 3) -> Analysis:
    """The scene with a disk that stalls: every cell does nothing for as much of its time as it ``met``."""
    plain = scene.analysis(seed=seed, sd=0.02)
    cells = {(c.layer, c.workload.key): _held_up(c, met(c)) for c in plain.cells}

    def over(one: Comparison) -> Comparison:
        here, there = (1 - met(plain.summary(name, one.workload_key)) for name in (one.layer, one.below))  # type: ignore[arg-type]
        ratio = _times(one.iops, here / there)
        return one.model_copy(update={"iops": ratio, "verdict": equivalence(ratio, one.expected_overhead)})

    return plain.model_copy(update={"cells": tuple(cells.values()), "comparisons": tuple(map(over, plain.comparisons))})


def _held_up(cell: CellSummary, part: float) -> CellSummary:
    some = Episodes(share=part, count=4, length_s=0.25, longest_s=0.26, factor=None, period_s=0.36) if part else None
    steady = Steadiness(bin_s=0.02, bins=40, spread=0.3, drift=None, stalls=some, slow=None)
    tail = Tail(most=200.0, slowest_share=0.7, far_ios=0.02, far_time=part, far_ns=2.5e8) if part else None
    return cell.model_copy(update={"iops": _times(cell.iops, 1 - part), "steadiness": steady, "tail": tail})


def _times(one: Estimate, factor: float) -> Estimate:
    ends = {name: None if (end := getattr(one, name)) is None else end * factor for name in ("low", "high")}
    return one.model_copy(update={"value": one.value * factor, **ends})


def by_chance(cell: CellSummary) -> float:
    """All of the disk's workloads meet the stalls; what is answered by a cache of the server meets none, and a write
    through the wire meets half."""
    if cell.layer != "share":
        return HELD
    return 0.0 if not cell.workload.rw.random and not cell.workload.rw.writes else HELD / 2


@pytest.mark.parametrize("seed", rest_in_ci([3, 4, 5], every_day=1))
def test_a_slow_wire_beside_stalls_of_the_disk_is_named_with_them(seed: int) -> None:
    found = diagnose(SLOW_WIRE.stack, stalled(SLOW_WIRE, by_chance, seed))
    told = {(f.layer, f.cause) for f in found.findings}
    assert ("disk", Cause.STALLS) in told and ("share", Cause.WIRE_BANDWIDTH) in told
    wire = next(f for f in found.findings if f.cause is Cause.WIRE_BANDWIDTH)
    assert wire.confidence >= 0.5 and wire.rows


def test_stalls_that_one_layer_met_more_often_blame_nobody_else() -> None:
    """By chance the share met fewer stalls than the disk: that makes no workload of it slow."""
    analysis = stalled(HEALTHY, by_chance)
    case = Case(HEALTHY.stack, analysis)
    (share,) = [p for p in case.pairs if p.view.layer.name == "share"]
    moved = between_episodes(share, by_themselves(case))
    assert moved is not share
    assert {p.key for p in moved.view.affected} <= {p.key for p in share.view.affected}


@pytest.mark.parametrize(("held", "blocks", "most"), [(0.35, 4.0, 1 / 0.65), (0.0, 4.0, 1.0), (0.35, 0.25, 1.0)])
def test_what_is_full_goes_on_while_its_queue_lasts(held: float, blocks: float, most: float) -> None:
    """With four times the bytes under way a wire has something to carry while the disk stalls: seen live, 57 IOPS where
    its mean rate allows 54, which refuted it."""
    case = Case(SLOW_WIRE.stack, stalled(SLOW_WIRE, lambda _: held))
    pair = next(p for p in case.pairs if p.view.layer.name == "share")
    model = pair.shape(LimitKind.BANDWIDTH)
    wire = Opinion(cause=Cause.WIRE_BANDWIDTH, layer="share", model=model, cells=model.binding)
    before = next(p.workload for p in pair.view.points if p.key == "read-128KiB-qd8")
    asked = Prediction(metric=Metric.IOPS, low=0.0, high=0.0, unit="IOPS")
    after = before.resized(blocks)
    made = Experiment(layer="share", workload=after, reference=before.key, changes="", prediction=asked, otherwise="")
    told = predicted(case, wire, "share", made)
    assert told is not None
    mean = model.parameter / after.bs
    wide = math.exp(slack(case.analysis.noise.tolerance))
    assert told.high == pytest.approx(mean * most * wide, rel=0.1)
    assert told.low <= mean * (1.0 if blocks > 1 else 1 - held)


def test_without_stalls_nothing_is_moved() -> None:
    case = Case(SLOW_WIRE.stack, SLOW_WIRE.analysis(seed=3, sd=0.02))
    for pair in case.pairs:
        assert between_episodes(pair, by_themselves(case)) is pair


def test_a_slow_wire_behind_a_server_that_stands_still_itself_is_named_with_its_stalls() -> None:
    """The share alone stalls: every workload of it loses half by that, and the wire holds the large blocks besides."""

    def at_the_share(cell: CellSummary) -> float:
        return 0.3 if cell.layer == "share" else 0.0

    analysis = stalled(SLOW_WIRE, at_the_share)
    nothing_lost = segments(0)
    cells = (
        c.model_copy(update={"counters": c.counters | nothing_lost(c)}) if c.layer == "share" else c
        for c in analysis.cells
    )
    found = diagnose(SLOW_WIRE.stack, analysis.model_copy(update={"cells": tuple(cells)}))
    told = {(f.layer, f.cause) for f in found.findings}
    assert {("share", Cause.STALLS), ("share", Cause.WIRE_BANDWIDTH)} <= told
