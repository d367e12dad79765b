"""Which experiment comes next: the one that separates the standing causes best per second of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from strata.diagnose.case import Case
from strata.diagnose.causes import medium
from strata.diagnose.layers import NamedFinding, suspected, to_ask
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.registry import trials
from strata.diagnose.separation import worth
from strata.diagnose.trying import experiments_of
from strata.model.experiment import Experiment, Prediction
from strata.model.finding import Cause

USUAL_SECONDS = 8.0
"""Of an experiment that does not say: two cells in three rounds."""


def best(
    case: Case,
    named: tuple[NamedFinding, ...],
    aside: tuple[NamedFinding, ...],
    seconds: float,
    refused: tuple[Experiment, ...] = (),
) -> Experiment | None:
    """Of the first finding that an experiment can still tell more of; None where there is none in time. ``aside``: of
    those that are not said, which come after all that are."""
    done = {t.experiment.name for t in case.tried} | {e.name for e in refused}
    asked = [(n.finding.layer, n.standing) for n in named if not _settled(case, n.finding.layer, n)]
    asked += to_ask(aside)
    full = Opinion(cause=Cause.MEDIUM, layer=medium.bottom(case.stack).name)
    asked += [(o.layer, (o, full)) for o in suspected(case)]
    asked += [(n.finding.layer, (_for_no_cause(n),)) for n in (*named, *aside) if n.finding.cause is Cause.UNEXPLAINED]
    if not named and not experiments_of(full.layer, full.cause.value, case.tried).telling:
        asked.append((full.layer, (full,)))
    for layer, known in asked:
        standing = at(layer, known)
        ready = [e for e in candidates(case, standing) if e.name not in done and _seconds(e) <= seconds]
        told = [(worth(e.predictions, standing) / _seconds(e), e) for e in ready]
        if told := [t for t in told if t[0] > 0]:
            return max(told, key=lambda t: t[0])[1]
    return None


def _settled(case: Case, layer: str, finding: NamedFinding) -> bool:
    """Whether an experiment has told the favourite from another already, and only it stands."""
    if finding.finding.cause is Cause.UNEXPLAINED or not finding.standing:
        return not finding.standing
    (first, *others) = finding.standing
    return not others and bool(experiments_of(layer, first.cause.value, case.tried).telling)


def _for_no_cause(finding: NamedFinding) -> Opinion:
    """That it is slow, whatever the cause: it can be gone when it is measured again."""
    return Opinion(None, cause=Cause.UNEXPLAINED, cells=finding.keys)


def at(layer: str, standing: tuple[Opinion, ...]) -> tuple[Opinion, ...]:
    """The same, each with its layer: those of a pair are about the pair's."""
    return tuple(replace(o, layer=o.layer or layer) for o in standing)


def candidates(case: Case, standing: tuple[Opinion, ...]) -> Iterator[Experiment]:
    """Whatever could be tried of causes that stand, each `at` its layer."""
    for trial in trials():
        made = trial.propose(case, standing)
        if made is not None:
            yield beside(made, standing).model_copy(update={"key": trial.key})


def beside(experiment: Experiment, standing: tuple[Opinion, ...]) -> Experiment:
    """An experiment that was made for another cause is no witness against what a counter shows."""
    shown = {(o.layer, o.cause.value) for o in standing if o.holds and o.weight is Weight.SHOWN}

    def held(one: Prediction) -> Prediction:
        return one.model_copy(update={"rival": True}) if one.idle and (one.layer, one.cause) in shown else one

    told = tuple(map(held, experiment.predictions))
    return experiment.model_copy(update={"prediction": held(experiment.prediction), "predictions": told})


def _seconds(experiment: Experiment) -> float:
    return experiment.seconds or USUAL_SECONDS
