"""A second finding is told only where the first leaves something open and does not speak against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tiers import rest_in_ci

from strata.diagnose import diagnose
from strata.diagnose.further import worth_saying
from strata.diagnose.layers import NamedFinding
from strata.diagnose.losses import with_shares
from strata.diagnose.opinion import Opinion, Weight
from strata.model.analysis import Analysis
from strata.model.finding import Cause, RuledOut

from .known import SCENES, TWO


def pair() -> tuple[Analysis, NamedFinding, NamedFinding]:
    """CPUs blamed for the deep cells; a cap, sure enough, for another one where they have headroom."""
    scene = SCENES["capped-target"]
    analysis = scene.analysis(seed=1, sd=0.03)
    found = diagnose(scene.stack, analysis).findings[0]
    first = found.model_copy(update={"cause": Cause.PROCESSORS, "ruled_out": ()})
    second = found.model_copy(update={"confidence": 0.6})
    return (
        analysis,
        NamedFinding(first, (), 2.0, frozenset({"randread-8KiB-qd32"})),
        NamedFinding(second, (), 1.0, frozenset({"read-128KiB-qd8"})),
    )


def busy(analysis: Analysis, share: float) -> Analysis:
    return analysis.model_copy(
        update={"cells": tuple(c.model_copy(update={"cpu_busy": share}) for c in analysis.cells)}
    )


def causes(named: Sequence[NamedFinding]) -> list[tuple[str, Cause]]:
    return [(n.finding.layer, n.finding.cause) for n in named]


def test_a_second_finding_that_adds_something_is_kept() -> None:
    analysis, first, second = pair()
    assert worth_saying(busy(analysis, 0.3), [first, second]) == (first, second)


def test_cells_whose_processors_are_busy_are_explained_by_the_processors() -> None:
    analysis, first, second = pair()
    assert worth_saying(busy(analysis, 0.89), [first, second]) == (first,)


def test_what_was_ruled_out_is_not_found_again() -> None:
    analysis, first, second = pair()
    out = RuledOut(cause=second.finding.cause, because="the slow cells give 12 to 70 IOPS")
    denied = replace(first, finding=first.finding.model_copy(update={"ruled_out": (out,)}))
    assert causes(worth_saying(busy(analysis, 0.3), [denied, second])) == causes([denied])
    elsewhere = replace(second, finding=second.finding.model_copy(update={"layer": "direct"}))
    assert worth_saying(busy(analysis, 0.3), [denied, elsewhere]) == (denied, elsewhere)


@pytest.mark.parametrize(("sure", "kept"), [(0.49, 1), (0.5, 2)])
def test_an_unsure_second_finding_is_dropped(sure: float, kept: int) -> None:
    analysis, first, second = pair()
    unsure = replace(second, finding=second.finding.model_copy(update={"confidence": sure}))
    assert len(worth_saying(busy(analysis, 0.3), [first, unsure])) == kept


@pytest.mark.parametrize(("layer", "sure", "kept"), [("direct", 0.3, 2), ("direct", 0.29, 1), ("path", 0.49, 1)])
def test_what_a_counter_shows_at_another_layer_is_told_of_however_little_of_the_loss(
    layer: str, sure: float, kept: int
) -> None:
    analysis, first, second = pair()
    finding = second.finding.model_copy(update={"confidence": sure, "layer": layer})
    shown = Opinion(weight=Weight.SHOWN, cause=second.finding.cause)
    assert len(worth_saying(busy(analysis, 0.3), [first, replace(second, finding=finding, standing=(shown,))])) == kept
    suggested = replace(shown, weight=Weight.SUGGESTED)
    assert len(worth_saying(busy(analysis, 0.3), [first, replace(second, finding=finding, standing=(suggested,))])) == 1


def test_a_shape_through_one_row_is_no_second_finding_before_an_experiment_told_it() -> None:
    analysis, first, second = pair()
    one_row = replace(second, one_row=True, finding=second.finding.model_copy(update={"outcome": None}))
    assert causes(worth_saying(busy(analysis, 0.3), [first, one_row])) == causes([first])
    assert worth_saying(busy(analysis, 0.3), [one_row]) == (one_row,), "it may be the first"


@pytest.mark.parametrize("name", rest_in_ci([n for n, s in SCENES.items() if s.layer is not None], every_day=3))
def test_no_finding_speaks_against_the_ruled_out_and_none_is_told_in_the_explanation(name: str) -> None:
    scene = SCENES[name]
    for seed in range(4):
        found = diagnose(scene.stack, scene.analysis(seed=seed, sd=0.05))
        denied = {(found.findings[0].layer, r.cause) for r in found.ruled_out}
        assert not denied & {(f.layer, f.cause) for f in found.findings}
        assert all(f.confidence >= 0.5 for f in found.findings[1:])
        assert "Also" not in found.verdict.explanation


def test_rows_of_a_finding_that_is_not_told_are_not_explained_and_take_confidence_with_them() -> None:
    analysis, first, second = pair()
    unsure = replace(second, finding=second.finding.model_copy(update={"confidence": 0.3}))
    (told,) = worth_saying(busy(analysis, 0.3), [first, unsure])
    assert told.finding.left == ("path/read-128KiB-qd8",)
    # A third of the layer's loss is open: a sixth of the confidence goes.
    assert told.finding.confidence == pytest.approx(first.finding.confidence * 5 / 6, abs=0.001)
    elsewhere = replace(unsure, finding=unsure.finding.model_copy(update={"layer": "direct"}))
    assert worth_saying(busy(analysis, 0.3), [first, elsewhere]) == (first,)
    the_same = replace(unsure, keys=first.keys)
    assert worth_saying(busy(analysis, 0.3), [first, the_same]) == (first,)


def test_a_finding_keeps_its_share_of_what_is_lost() -> None:
    two = TWO["far-and-slow-wire"]
    found = diagnose(two.stack, two.analysis(seed=3, sd=0.02)).findings
    assert len(found) >= 2
    shares = [f.share or 0.0 for f in found]
    assert all(share > 0 for share in shares)
    assert sum(shares) == pytest.approx(1, abs=0.002)


def test_what_costs_nothing_has_no_share() -> None:
    _, first, second = pair()
    wrong = replace(
        second, finding=second.finding.model_copy(update={"id": "wrong", "cause": Cause.WRONG_FILE, "share": None})
    )
    assert [f.share for f in with_shares([first, wrong], [first.finding, wrong.finding])] == [1.0, None]
    beside = replace(second, finding=second.finding.model_copy(update={"id": "beside"}), own_loss=1.0)
    told = with_shares([first, beside], [first.finding, beside.finding])
    assert [(f.share, f.own_loss) for f in told] == [(0.667, None), (0.333, 1.0)]
