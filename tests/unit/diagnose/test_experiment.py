"""The experiment is run in the same simulation: the truth survives it, a wrong name does not."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from strata.analyse import cell_summary
from strata.diagnose import conclude, diagnose, outcome, propose
from strata.diagnose.conclude import revised
from strata.model.analysis import Analysis
from strata.model.finding import Diagnosis, EvidenceKind, Experiment, Outcome, VerdictKind
from strata.model.plan import Cell
from strata.model.workload import Workload

from .known import SCENES, Scene
from .queueing import Path
from .scenes import measured

PROPOSED = [n for n in SCENES if n != "reordering"]


def carry_out(scene: Scene, analysis: Analysis, experiment: Experiment, *, sd: float = 0.05, seed: int = 1) -> Outcome:
    cell = Cell(layer=experiment.layer, workload=experiment.workload)
    rng = random.Random(seed)
    path = scene.paths[experiment.layer]
    rounds = [measured(cell, path, order=900 + i, number=i, sd=sd, rng=rng) for i in range(3)]
    reference = analysis.summary(experiment.layer, experiment.reference)
    summary = cell_summary(experiment.layer, experiment.workload, rounds, noise=analysis.noise)
    assert reference is not None and summary is not None
    return outcome(experiment, reference, summary)


def before(name: str, seed: int = 1) -> tuple[Scene, Analysis, Diagnosis, Experiment]:
    scene = SCENES[name]
    analysis = scene.analysis(seed=seed, sd=0.05)
    found = diagnose(scene.stack, analysis)
    experiment = propose(scene.stack, analysis, found)
    assert experiment is not None
    return scene, analysis, found, experiment


@pytest.mark.parametrize("name", PROPOSED)
def test_the_truth_survives_its_experiment(name: str) -> None:
    confirmed = 0
    for seed in range(8):
        scene, analysis, found, experiment = before(name, seed)
        assert experiment.prediction.low < experiment.prediction.high
        seen = carry_out(scene, analysis, experiment, seed=seed)
        assert seen.holds is not False, seen.statement
        after = conclude(found, seen)
        if seen.holds:
            confirmed += 1
            assert found.verdict.confidence < after.verdict.confidence <= 0.97
            assert after.verdict.kind is found.verdict.kind
            assert EvidenceKind.INTERVENTIONAL in {e.kind for e in after.findings[0].evidence}
            assert after.findings[0].outcome == seen
            assert after.verdict.explanation == found.verdict.explanation, "the outcome is told by the finding alone"
    assert confirmed >= 7


def delayed(x: float, n: int) -> Path:
    return Path(delay=n / x - 2e-3)


@pytest.mark.parametrize(
    ("named", "truth"),
    [
        ("slow-wire", lambda x, w: Path(cap=x)),
        ("slow-wire", lambda x, w: delayed(x, w.outstanding)),
        ("capped-target", lambda x, w: Path(wire=x * w.bs)),
        ("far-wire", lambda x, w: Path(cap=x)),
        ("far-wire", lambda x, w: Path(lock=1 / x)),
        ("slow-service", lambda x, w: Path(wire=x * w.bs)),
        ("one-at-a-time", lambda x, w: delayed(x, w.outstanding)),
    ],
)
def test_a_wrong_name_does_not_survive(named: str, truth: Callable[[float, Workload], Path]) -> None:
    """The other truth gives the very IOPS of the reference cell, so only the change can tell them apart."""
    scene, analysis, found, experiment = before(named)
    reference = analysis.summary(experiment.layer, experiment.reference)
    assert reference is not None
    other = replace(scene, paths={experiment.layer: truth(reference.iops.value, reference.workload)})
    seen = carry_out(other, analysis, experiment)
    assert seen.holds is False, seen.statement
    after = conclude(found, seen)
    assert after.verdict.kind is VerdictKind.INCONCLUSIVE
    assert after.verdict.confidence <= 0.25 * found.verdict.confidence + 1e-3
    assert after.verdict.missing and "withdrawn" in after.verdict.explanation


def test_an_interval_over_the_edge_decides_nothing() -> None:
    scene, analysis, found, experiment = before("slow-wire")
    reference = analysis.summary(experiment.layer, experiment.reference)
    assert reference is not None
    edge = experiment.prediction.high
    iops = reference.iops.model_copy(update={"value": edge, "low": edge * 0.9, "high": edge * 1.1})
    seen = outcome(experiment, reference, reference.model_copy(update={"iops": iops}))
    assert seen.holds is None
    after = conclude(found, seen)
    assert after.verdict.kind is found.verdict.kind
    assert after.verdict.confidence == found.verdict.confidence
    assert after.findings[0].outcome == seen and "over the edge" in seen.statement
    assert scene.layer == after.verdict.layer


def test_an_outcome_of_another_experiment_changes_nothing() -> None:
    _, analysis, found, _ = before("slow-wire")
    _, _, _, foreign = before("capped-target")
    reference = analysis.summary(foreign.layer, foreign.reference)
    assert reference is not None
    assert conclude(found, outcome(foreign, reference, reference)) == found


def test_confidence_after_an_experiment_is_monotone_and_bounded() -> None:
    for c in (0.0, 0.3, 0.75):
        down, same, up = revised(c, False), revised(c, None), revised(c, True)
        assert down <= same == c < up <= 0.97
