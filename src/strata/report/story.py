"""The experiments as a short story: what was changed, what each standing cause had said before, what came of it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from strata.model.experiment import Condition, Experiment, Prediction, Told
from strata.model.finding import Cause, Diagnosis
from strata.report import figures

UNFOLDED = 0.8
"""Below this confidence the story is told without being asked for."""


class Fate(StrEnum):
    """What became of a prediction; the words that end its sentence."""

    AGREED = "agrees"
    FELL = "falls"
    OPEN = "stays open"


class Foretold(NamedTuple):
    """What one cause had predicted, and what became of it."""

    cause: str
    said: str
    fate: Fate


class Scene(NamedTuple):
    """One experiment. ``where``: the layer and what was run there; ``measured`` with its interval."""

    changes: str
    where: str
    measured: str
    foretold: tuple[Foretold, ...]


def scenes(diagnosis: Diagnosis) -> tuple[Scene, ...]:
    """In the order in which they were run."""
    return tuple(_scene(told) for told in diagnosis.story)


def line(scene: Scene) -> str:
    """``twice the depth: 268 IOPS; wire latency had said 199–377 IOPS (agrees), …``"""
    said = ", ".join(f"{f.cause} had said {f.said} ({f.fate})" for f in scene.foretold)
    return f"{scene.changes}: {scene.measured}; {said}" if said else f"{scene.changes}: {scene.measured}"


def refused(diagnosis: Diagnosis) -> tuple[str, ...]:
    """What could not be tried, and why."""
    return tuple(f"{r.experiment.changes}: {r.because}" for r in diagnosis.refused)


def told_more(diagnosis: Diagnosis) -> bool:
    """Whether there is more to tell than the one outcome that stands with the verdict."""
    return bool(diagnosis.refused) or len(diagnosis.story) > 1 or any(len(s.foretold) > 1 for s in scenes(diagnosis))


def named(prediction: Prediction, layer: str) -> str:
    """The cause in words, with its layer where that is another one than ``layer``."""
    if prediction.cause is None:
        return "the finding"
    words = next((c.words for c in Cause if c.value == prediction.cause), prediction.cause)
    return words if prediction.layer in (None, layer) else f"{words} of {prediction.layer}"


def _scene(told: Told) -> Scene:
    experiment = told.outcome.experiment
    return Scene(
        changes=experiment.changes,
        where=_where(experiment),
        measured=figures.interval(told.outcome.measured),
        foretold=tuple(
            Foretold(named(p, experiment.layer), figures.predicted(p), _fate(told, p))
            for p in experiment.predictions or (experiment.prediction,)
        ),
    )


def _where(experiment: Experiment) -> str:
    under = "" if experiment.condition is Condition.NONE else f", {experiment.condition.value}"
    return f"{experiment.layer}, {experiment.workload.label}{under}"


def _fate(told: Told, p: Prediction) -> Fate:
    name = f"{p.layer}: {p.cause}" if p.cause else "the finding"
    return Fate.AGREED if name in told.agreed else Fate.FELL if name in told.fell else Fate.OPEN
