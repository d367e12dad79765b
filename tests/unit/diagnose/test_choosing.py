"""Several causes stand, and one is true in the simulation: it survives, the others fall, in few experiments."""

from __future__ import annotations

import pytest

from strata.diagnose import choosing
from strata.diagnose.case import Case
from strata.diagnose.models import Scope, Shape, fit
from strata.diagnose.opinion import Opinion
from strata.diagnose.separation import worth
from strata.diagnose.trying import after
from strata.model.cause import Cause
from strata.model.experiment import Tried

from .known import SCENES
from .test_experiment import carry_out

SHAPES = {
    Shape.BANDWIDTH: Cause.WIRE_BANDWIDTH,
    Shape.CAP: Cause.IOPS_CAP,
    Shape.DELAY: Cause.WIRE_LATENCY,
}
MOST = 3
"""Experiments: three causes differ in depth and in size."""


def standing(case: Case, first: Cause) -> tuple[Opinion, ...]:
    """Every shape by itself at its best, as if nothing told them apart yet; ``first`` is the favourite."""
    (pair,) = case.pairs
    cells = frozenset(p.key for p in pair.view.affected)
    found = [
        Opinion(cause, True, "", layer="path", cells=cells, model=fit(pair.view, shape, Scope.BOTH))
        for shape, cause in SHAPES.items()
    ]
    return tuple(sorted(found, key=lambda o: o.cause is not first))


@pytest.mark.parametrize("favourite", SHAPES.values(), ids=str)
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
