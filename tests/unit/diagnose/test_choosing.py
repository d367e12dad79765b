"""Several causes stand, and one is true in the simulation: it survives, the others fall, in few experiments."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tiers import rest_in_ci

from strata.diagnose import choosing
from strata.diagnose.case import Case
from strata.diagnose.models import LimitDirection, LimitKind, fit
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.predict import unlimited
from strata.diagnose.separation import worth
from strata.diagnose.trying import after, experiments_of, outcome
from strata.diagnose.variants import Variant, best, explained, reshape
from strata.model.cause import Cause
from strata.model.experiment import Experiment, Prediction, Tried

from .known import SCENES, TWO
from .test_experiment import carry_out

SHAPES = {
    LimitKind.BANDWIDTH: Cause.WIRE_BANDWIDTH,
    LimitKind.CAP: Cause.IOPS_CAP,
    LimitKind.DELAY: Cause.WIRE_LATENCY,
}
MOST = 3
"""Experiments: three causes differ in depth and in size."""


def standing(case: Case, first: Cause) -> tuple[Opinion, ...]:
    """Every shape by itself at its best, as if nothing told them apart yet; ``first`` is the favourite."""
    (pair,) = case.pairs
    cells = frozenset(p.key for p in pair.view.affected)
    found = [
        Opinion(layer="path", cells=cells, model=fit(pair.view, shape, LimitDirection.BOTH), cause=cause)
        for shape, cause in SHAPES.items()
    ]
    return tuple(sorted(found, key=lambda o: o.cause is not first))


@pytest.mark.parametrize("favourite", rest_in_ci(SHAPES.values(), every_day=1), ids=str)
@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("slow-wire", Cause.WIRE_BANDWIDTH),
        ("capped-target", Cause.IOPS_CAP),
        ("far-wire", Cause.WIRE_LATENCY),
    ],
)
def test_the_truth_survives_whoever_is_the_favourite(name: str, truth: Cause, favourite: Cause) -> None:
    scene = SCENES[name]
    analysis = scene.analysis(seed=1, sd=0.03)
    tried: tuple[Tried, ...] = ()
    alive = standing(Case(scene.stack, analysis), favourite)
    while len(alive) > 1 and len(tried) < MOST:
        case = Case(scene.stack, analysis, tried)
        offered = [(worth(e.predictions, alive), e) for e in choosing.candidates(case, alive)]
        value, experiment = max(offered, key=lambda one: one[0])
        assert value > 0, "somebody can be told from somebody"
        assert len(experiment.predictions) == len(alive), "each of them predicts"
        tried = (*tried, carry_out(scene, analysis, experiment, sd=0.03))
        alive = tuple(o for o in alive if after(o, "path", tried).holds is not False)
    assert [o.cause for o in alive] == [truth], [t.experiment.changes for t in tried]


def test_to_move_to_where_a_limit_does_not_bind_confirms_none() -> None:
    """A small block size gives what the layer below gives, whatever had limited before."""
    scene = SCENES["slow-wire"]
    case = Case(scene.stack, scene.analysis(seed=1, sd=0.03))
    (favourite, *_) = standing(case, Cause.WIRE_BANDWIDTH)
    cell, pair, point = max(explained(case, favourite), key=lambda found: found[0].workload.bs)
    variants = {f: Variant(cell, reshape(cell.workload, blocks=f), "", pair, point) for f in (1 / 32, 2)}
    made = {f: best(case, (favourite,), (variant,)) for f, variant in variants.items()}
    assert best(case, (favourite,), variants.values()) == made[2], "a larger block tells more"
    small, large = made[1 / 32], made[2]
    assert small is not None and large is not None

    def confirmed(experiment: Experiment) -> bool:
        tried = carry_out(scene, case.analysis, experiment, sd=0.03)
        assert outcome(tried).holds
        return bool(experiments_of("path", favourite.cause, (tried,)).telling)

    assert confirmed(large)
    assert not confirmed(small)
    # Nothing else was wrong with it.
    assert confirmed(small.model_copy(update={"unlimited": None}))


def test_a_delay_that_was_fitted_beside_a_limit_confirms_the_delay_and_not_the_limit() -> None:
    """A shallow cell of small blocks is as slow as the delay makes it, whatever carries the large ones."""
    two = TWO["far-and-slow-wire"]
    case = Case(two.stack, two.analysis(seed=3, sd=0.02))
    (favourite, *_) = standing(case, Cause.WIRE_BANDWIDTH)
    assert favourite.model is not None
    model = replace(favourite.model, base=5e-3)
    cell = next(c for c in case.analysis.cells if c.layer == "path" and c.workload.outstanding == 1)
    workload = reshape(cell.workload, depth=2)
    asked = Prediction(metric="iops", low=0.0, high=0.0, unit="IOPS")
    empty = Experiment(
        layer="path", workload=workload, reference=cell.workload.key, changes="", prediction=asked, otherwise=""
    )
    beside = unlimited(case, replace(favourite, layer="path", model=model), empty)
    alone = unlimited(case, replace(favourite, layer="path", model=replace(model, base=0.0)), empty)
    assert beside is not None and alone is not None
    delayed = workload.outstanding / (5e-3 + workload.outstanding / alone.high)
    assert beside.low < delayed < beside.high
    assert not alone.low < delayed


def test_an_experiment_made_for_another_cause_refutes_nothing_that_a_counter_shows() -> None:
    """As seen on a machine of two cores: two threads on the file system cost CPU time, and fell with it."""
    told = Prediction(metric="ratio", low=0.8, high=1.25, unit="ratio", layer="share", cause="processors", idle=True)
    other = told.model_copy(update={"low": 0.2, "high": 0.75, "cause": "reordering", "idle": False})
    stands = Opinion(weight=Weight.SHOWN, layer="share", cause=Cause.PROCESSORS)
    suggested = replace(stands, weight=Weight.SUGGESTED)
    analysis = SCENES["slow-wire"].analysis(seed=1, sd=0.03)
    reference = analysis.cells[0]
    iops = {k: getattr(reference.iops, k) * 0.5 for k in ("value", "low", "high")}
    changed = reference.model_copy(update={"iops": reference.iops.model_copy(update=iops)})
    plain = Experiment(
        layer="file system",
        workload=reference.workload,
        reference=reference.workload.key,
        changes="two threads",
        prediction=told,
        predictions=(told, other),
        otherwise="",
    )
    for one, left in ((stands, True), (suggested, False)):
        tried = Tried(experiment=choosing.beside(plain, (one,)), reference=reference, changed=changed)
        assert after(one, "share", (tried,)).holds is left
        assert outcome(tried, "share", "reordering").holds is True
