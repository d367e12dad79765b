"""The experiments as a short story: what was changed, what each standing cause had said before, what came of it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from strata.model.experiment import Condition, Experiment, ExperimentRecord, Outcome, Prediction
from strata.model.finding import Cause, Diagnosis
from strata.report import figures

UNFOLDED = 0.8
"""Below this confidence the story is told without being asked for."""


class PredictionResult(StrEnum):
    """What became of a prediction; the words that end its sentence."""

    AGREED = "agrees"
    FELL = "refuted"
    OPEN = "undecided"


class PredictionEntry(NamedTuple):
    """What one cause had predicted, and what became of it. A rival is the next best cause, which no finding names."""

    cause: str
    said: str
    result: PredictionResult
    rival: bool = False

    @property
    def who(self) -> str:
        """The cause, marked where it is a rival."""
        return f"{self.cause} (alternative)" if self.rival else self.cause


class ExperimentEntry(NamedTuple):
    """One experiment. ``where``: the layer and what was run there; ``measured`` with its interval."""

    changes: str
    where: str
    measured: str
    predictions: tuple[PredictionEntry, ...]

    @property
    def telling(self) -> bool:
        """Whether a cause fell by it."""
        return any(f.result is PredictionResult.FELL for f in self.predictions)


def scenes(diagnosis: Diagnosis) -> tuple[ExperimentEntry, ...]:
    """In the order in which they were run."""
    return tuple(_scene(told) for told in diagnosis.story)


def line(scene: ExperimentEntry) -> str:
    """``twice the depth (share, random read · depth 2): 268 IOPS; wire latency predicted 199–377 IOPS (agrees), …``"""
    said = ", ".join(f"{f.who} predicted {f.said} ({f.result})" for f in scene.predictions)
    told = f"{scene.changes} ({scene.where}): {scene.measured}"
    return f"{told}; {said}" if said else told


def asked(experiment: Experiment) -> str:
    """``twice the depth (share, random read · 8 KiB · depth 2)``: what it changes, at which layer and under what."""
    return f"{experiment.changes} ({_where(experiment)})"


def outcome(of: Outcome) -> str:
    """``at random read · 8 KiB · depth 2, twice the depth gives 268 IOPS (before: 141), predicted 199–377 IOPS; a cap
    on IOPS predicted 141 IOPS``: what stands with the verdict, its cell, and what the others predicted."""
    experiment = of.experiment
    mine = (experiment.prediction.layer, experiment.prediction.cause)
    others = [p for p in experiment.predictions if (p.layer, p.cause) != mine and not (p.rival and p.idle)]
    said = ", ".join(f"{named(p, experiment.layer)} predicted {p.words}" for p in others)
    told = f"at {_under(experiment)}, {of.statement}"
    return f"{told}; {said}" if said else told


def refused(diagnosis: Diagnosis) -> tuple[str, ...]:
    """What could not be tried, and why."""
    return tuple(f"{r.experiment.changes}: {r.because}" for r in diagnosis.refused)


def told_more(diagnosis: Diagnosis, shown: Outcome | None) -> bool:
    """Whether there is more to tell than the outcome that is ``shown`` with the verdict."""
    return bool(diagnosis.refused) or len(diagnosis.story) > (shown is not None)


def named(prediction: Prediction, layer: str) -> str:
    """The cause in words, with its layer where that is another one than ``layer``."""
    if prediction.cause is None:
        return "the finding"
    words = next((c.words for c in Cause if c.value == prediction.cause), prediction.cause)
    return words if prediction.layer in (None, layer) else f"{words} of {prediction.layer}"


def _scene(told: ExperimentRecord) -> ExperimentEntry:
    experiment = told.outcome.experiment
    return ExperimentEntry(
        changes=experiment.changes,
        where=_where(experiment),
        measured=figures.interval(told.outcome.measured) + (" times" if experiment.prediction.unit == "ratio" else ""),
        predictions=tuple(
            PredictionEntry(named(p, experiment.layer), p.words, _result(told, p), p.rival)
            for p in experiment.predictions or (experiment.prediction,)
        ),
    )


def _where(experiment: Experiment) -> str:
    return f"{experiment.layer}, {_under(experiment)}"


def _under(experiment: Experiment) -> str:
    """The workload, and the condition where there is one."""
    label = experiment.workload.label
    return label if experiment.condition is Condition.NONE else f"{label}, {experiment.condition.value}"


def _result(told: ExperimentRecord, p: Prediction) -> PredictionResult:
    name = f"{p.layer}: {p.cause}" if p.cause else "the finding"
    if name in told.agreed:
        return PredictionResult.AGREED
    return PredictionResult.FELL if name in told.fell else PredictionResult.OPEN
