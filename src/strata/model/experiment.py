"""One change on purpose, what each standing cause predicts of it, and what it gave."""

from __future__ import annotations

from enum import StrEnum

from strata import units
from strata.model.analysis import CellSummary
from strata.model.base import Value, sparse
from strata.model.estimate import Estimate
from strata.model.workload import Workload


class Condition(StrEnum):
    """What is changed beside the workload itself while the changed cell is measured."""

    NONE = "none"
    COLD = "cold"
    """Our own file's pages are dropped first."""
    PINNED = "pinned elsewhere"
    SLOWED = "one layer slowed down a little"
    NULL_END = "a far end that stores nothing"
    MEMORY_END = "a far end that stores in memory"
    MORE_PATHS = "one more path at the same time"


class Metric(StrEnum):
    """What is predicted of the changed cell. ``ratio``: its IOPS ÷ those of the reference cell measured beside it.

    ``stalled``, ``slowed``: share of its time in which nothing, or clearly less, was done.
    """

    IOPS = "iops"
    MEAN = "mean_ns"
    RATIO = "ratio"
    STALLED = "stalled"
    SLOWED = "slowed"


LEAST_RATIO, MOST_RATIO = 1e-3, 1e3
"""Times the IOPS: an end of a prediction that lies there says nothing; it falls, or gains, by however much."""


SHARES = {Metric.STALLED: "of the time in stalls", Metric.SLOWED: "of the time in slow phases"}
"""What a share is one of."""


class Prediction(Value):
    """``low..high`` of ``metric`` that a cause predicts for the experiment's cell.

    ``cause`` and ``layer`` say whose prediction it is; None in runs of earlier versions, where it is the finding's own.
    ``idle``: what anything that knows nothing of the change would predict. To be right with it confirms nothing.
    ``rival``: it stands beside the others, so that the experiment is none that it would pass as well, and is not held
    to it: of the next best cause, which nobody stands for; or idle, of a cause that a counter shows. ``at``: of an
    interval that is so many times the reference, what that was when it was worked out.
    """

    metric: str
    low: float
    high: float
    unit: str
    cause: str | None = sparse(None)
    layer: str | None = sparse(None)
    idle: bool = sparse(False)
    rival: bool = sparse(False)
    at: float | None = sparse(None)

    @property
    def words(self) -> str:
        """``760–870 IOPS``; ``at least 2.0 times the IOPS`` where its other end says nothing."""
        if self.unit == "share":
            span = units.span(units.percent(self.low, 2), units.percent(self.high, 2))
            return f"{span} {SHARES[Metric(self.metric)]}"
        if self.unit != "ratio":
            low, high = (units.duration(v) if self.unit == "ns" else units.count(v) for v in (self.low, self.high))
            return units.span(low, high) if self.unit == "ns" else f"{units.span(low, high)} {self.unit}"
        low, high = units.significant(self.low, 2), units.significant(self.high, 2)
        if self.high >= MOST_RATIO:
            return f"at least {low} times the IOPS"
        return f"{f'at most {high}' if self.low <= LEAST_RATIO else units.span(low, high)} times the IOPS"

    def beside(self, reference: CellSummary) -> Prediction:
        """The same of the reference as it was measured beside the changed cell: a run's own cell may have been off."""
        now = getattr(reference, self.metric, None)
        if not self.at or now is None or now.value <= 0:
            return self
        times = now.value / self.at
        return self.model_copy(update={"low": self.low * times, "high": self.high * times, "at": now.value})


class Experiment(Value):
    """An experiment that would refute the finding, stated before it is run.

    ``layer`` and ``workload`` are what to run beside ``reference`` (a workload key at ``reference_layer``, or at the
    same layer where that is None). ``prediction`` is what the favourite predicts, ``predictions`` what every standing
    cause does (the favourite first); ``otherwise`` says the runner-up's in words. ``key``: the module that made it.
    """

    layer: str
    workload: Workload
    reference: str
    changes: str
    prediction: Prediction
    otherwise: str
    key: str = sparse("")
    reference_layer: str | None = sparse(None)
    condition: Condition = sparse(Condition.NONE)
    runtime_s: float | None = sparse(None)
    """Of each measurement, where it is another one than the run's."""
    added_ns: float | None = sparse(None)
    """What a slowed layer takes longer for each request."""
    beside: str | None = sparse(None)
    """The layer that takes part of the requests, where they go over two."""
    predictions: tuple[Prediction, ...] = sparse(())
    unlimited: Prediction | None = sparse(None)
    """What the layer below alone would give: an outcome that it may give, too, confirms no limit."""
    seconds: float = sparse(0.0)
    """What it is expected to take."""

    @property
    def name(self) -> tuple[str, ...]:
        """What makes two experiments the same one."""
        at = self.reference_layer or self.layer
        return (self.key, self.layer, self.workload.key, at, self.reference, self.condition.value)

    @property
    def label(self) -> str:
        """The same as one word: what its measurements carry in the store."""
        return " / ".join(self.name)


class Tried(Value):
    """An experiment that was run: both cells as they were measured in its own rounds."""

    experiment: Experiment
    reference: CellSummary
    changed: CellSummary

    @classmethod
    def of(cls, experiment: Experiment, reference: CellSummary, changed: CellSummary) -> Tried:
        """With what was predicted as times the reference told of the one that was measured beside."""
        told = tuple(p.beside(reference) for p in experiment.predictions)
        update = {"prediction": experiment.prediction.beside(reference), "predictions": told}
        return cls(experiment=experiment.model_copy(update=update), reference=reference, changed=changed)


class Refusal(Value):
    """An experiment that could not be run, and why: it is not proposed again."""

    experiment: Experiment
    because: str


class Outcome(Value):
    """What the experiment gave. ``holds`` None: the interval reaches over the prediction's edge."""

    experiment: Experiment
    measured: Estimate
    holds: bool | None
    statement: str


class ExperimentRecord(Value):
    """One step of the story: what stood before, what was measured, and which of it agreed, fell or was left open.

    Causes are told as ``layer: cause``.
    """

    outcome: Outcome
    agreed: tuple[str, ...] = ()
    fell: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
