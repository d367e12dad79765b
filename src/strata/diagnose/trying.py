"""What experiments did to the causes that stood: each is held to what it predicted before the experiment ran."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from strata import units
from strata.diagnose import paused
from strata.diagnose.opinion import Opinion
from strata.diagnose.sides import CauseSide, on
from strata.model.analysis import Analysis, CellSummary
from strata.model.estimate import Estimate
from strata.model.experiment import (
    SHARES,
    Experiment,
    ExperimentRecord,
    Metric,
    Outcome,
    Prediction,
    Tried,
)


def predictions_of(experiment: Experiment) -> tuple[Prediction, ...]:
    """Of every cause that stood, the favourite first; the favourite's alone in runs of earlier versions.

    Earlier versions held limits that are fitted between episodes to a prediction of the episodes, too.
    """
    told = experiment.predictions or (experiment.prediction,)
    return tuple(p for p in told if p.metric not in SHARES or p.cause not in on(CauseSide.BETWEEN))


def beside_their_reference(analysis: Analysis, tried: tuple[Tried, ...]) -> tuple[Tried, ...]:
    """The same, with what is full at a layer over another held to times its reference as it was measured beside the
    changed cell.

    Earlier versions kept what they had worked out from the run's own cell, which may have been off. Of a layer by
    itself its specification promises IOPS, whatever the reference gives.
    """
    return tuple(_beside(analysis, one) for one in tried)


def _beside(analysis: Analysis, one: Tried) -> Tried:
    experiment = one.experiment
    cell = analysis.summary(experiment.reference_layer or experiment.layer, experiment.reference)
    over = any(c.layer == experiment.layer for c in analysis.comparisons)
    if cell is None or not over or all(map(_told_of_it, predictions_of(experiment))):
        return one

    def now(told: Prediction) -> Prediction:
        return told if _told_of_it(told) else told.model_copy(update={"at": cell.iops.value}).beside(one.reference)

    update = {"prediction": now(experiment.prediction), "predictions": tuple(map(now, experiment.predictions))}
    return one.model_copy(update={"experiment": experiment.model_copy(update=update)})


def _told_of_it(told: Prediction) -> bool:
    """Whether its interval moves with the reference already, or need not."""
    return told.at is not None or told.metric != Metric.IOPS or told.cause not in on(CauseSide.FULL)


def measured(tried: Tried, metric: str) -> Estimate:
    """What the experiment gave in the metric of a prediction."""
    if metric != Metric.RATIO:
        return _of_cell(tried.changed, metric)
    one, other = tried.changed.iops, tried.reference.iops
    value = one.value / other.value if other.value else 0.0
    halves = [_half(e) for e in (one, other)]
    if value <= 0 or None in halves:
        return Estimate(value=value, low=None, high=None, n=min(one.n, other.n), unit="ratio")
    wide = math.exp(math.hypot(*(h for h in halves if h is not None)))
    return Estimate(value=value, low=value / wide, high=value * wide, n=min(one.n, other.n), unit="ratio")


def _of_cell(cell: CellSummary, metric: str) -> Estimate:
    if metric in (Metric.IOPS, Metric.MEAN):
        found: Estimate = getattr(cell, metric)
        return found
    if cell.steadiness is None:
        # It was not cut finely enough: anything may have been.
        return Estimate(value=0.0, low=0.0, high=1.0, n=cell.rounds, unit="share")
    some = paused.episodes(cell, paused.KINDS[Metric(metric)])
    if some is None:
        hidden = paused.hidden(cell) if metric == Metric.STALLED else None
        ends = {"low": None, "high": None} if hidden is None else {"low": 0.0, "high": hidden}
        return Estimate(value=0.0, n=cell.rounds, unit="share", **ends)
    # So many came by chance: Poisson.
    wide = 2 / math.sqrt(some.count)
    low, high = some.share * max(0.0, 1 - wide), min(1.0, some.share * (1 + wide))
    return Estimate(value=some.share, low=low, high=high, n=some.count, unit="share")


def _half(estimate: Estimate) -> float | None:
    """Half the interval's length on logs."""
    if estimate.low is None or estimate.high is None or estimate.low <= 0:
        return None
    return math.log(estimate.high / estimate.low) / 2


def holds(prediction: Prediction, value: Estimate) -> bool | None:
    """True: the whole interval lies inside the prediction; False: all of it outside; None: over an edge.

    With one round the value alone decides.
    """
    low = value.value if value.low is None else value.low
    high = value.value if value.high is None else value.high
    if prediction.low <= low and high <= prediction.high:
        return True
    return False if high < prediction.low or low > prediction.high else None


def outcome(tried: Tried, layer: str | None = None, cause: str | None = None) -> Outcome:
    """What it gave, compared with the prediction of this cause at this layer; without one, against the favourite's."""
    experiment = tried.experiment
    mine = _own(experiment, layer, cause) if cause is not None else None
    prediction = mine or experiment.prediction
    value = measured(tried, prediction.metric)
    held = holds(prediction, value)
    rate = prediction.metric in (Metric.IOPS, Metric.MEAN)
    before = f" (before: {_before(tried, prediction)})" if rate else ""
    edge = "; the interval crosses the edge of the prediction" if held is None else ""
    got = amount(value.value, prediction)
    statement = f"{experiment.changes} gives {got}{before}, predicted {prediction.words}{edge}"
    held_to = experiment if mine is None else experiment.model_copy(update={"prediction": mine})
    return Outcome(experiment=held_to, measured=value, holds=held, statement=statement)


def _before(tried: Tried, prediction: Prediction) -> str:
    return amount(getattr(tried.reference, prediction.metric).value, prediction).removesuffix(" IOPS")


def amount(value: float, prediction: Prediction) -> str:
    """A value in the prediction's unit, in words."""
    if prediction.unit == "ns":
        return units.duration(value)
    if prediction.unit == "ratio":
        return f"{units.significant(value, 2)} times the IOPS"
    if prediction.unit == "share":
        return f"{units.percent(value, 2)} {SHARES[Metric(prediction.metric)]}"
    return f"{units.count(value)} {prediction.unit}"


@dataclass(frozen=True)
class CauseTests:
    """What experiments did to one cause at one layer: those it predicted rightly, and those it predicted wrongly.

    ``telling``: of the right ones, those in which a prediction of another cause fell (or in which nobody else could
    fall, and that would not happen by themselves), its own was not idle, no other that still stands was right as
    well (what two predict alike confirms neither), and the layer below alone would have given something else.
    """

    layer: str
    cause: str
    fell: tuple[Tried, ...]
    telling: tuple[Tried, ...]


def experiments_of(layer: str, cause: str, tried: tuple[Tried, ...]) -> CauseTests:
    """Over all experiments that have a prediction of this cause at this layer."""
    fell, telling = [], []
    gone = _fallen(tried)
    for one in tried:
        mine = _own(one.experiment, layer, cause)
        if mine is None:
            continue
        held = holds(mine, measured(one, mine.metric))
        if held is False:
            fell.append(one)
        elif held:
            # The same cause at another layer may be so as well.
            others = [p for p in predictions_of(one.experiment) if p.cause != mine.cause or p.rival]
            held_by = {(p.layer, p.cause): holds(p, measured(one, p.metric)) for p in others}
            refutable = [p for p in others if not (p.rival and p.idle)]
            # Where nobody else can fall, only a change that would not happen by itself tells anything.
            alone = not refutable and mine.metric not in (Metric.IOPS, Metric.MEAN)
            apart = alone or any(held_by[p.layer, p.cause] is False for p in refutable)
            alike = any(held and who not in gone for who, held in held_by.items())
            if apart and not alike and not mine.idle and not _so_without_a_limit(one):
                telling.append(one)
    return CauseTests(layer, cause, tuple(fell), tuple(telling))


def _so_without_a_limit(one: Tried) -> bool:
    """Whether the layer below alone may give what was measured: then it shows no limit above it."""
    free = one.experiment.unlimited
    return free is not None and holds(free, measured(one, free.metric)) is not False


def _own(experiment: Experiment, layer: str | None, cause: str) -> Prediction | None:
    known = (p for p in predictions_of(experiment) if not p.rival)
    return next((p for p in known if (p.layer, p.cause) == (layer, cause)), None)


def _fallen(tried: tuple[Tried, ...]) -> set[tuple[str | None, str | None]]:
    """(layer, cause) of every prediction that missed, in whatever experiment."""
    return {
        (p.layer, p.cause)
        for one in tried
        for p in predictions_of(one.experiment)
        if not p.rival and holds(p, measured(one, p.metric)) is False
    }


def after(opinion: Opinion, layer: str, tried: tuple[Tried, ...]) -> Opinion:
    """The opinion as experiments left it: what predicted wrongly no longer holds, what was only suspected and predicted
    rightly, where others did not, does."""
    found = experiments_of(layer, opinion.cause.value, tried)
    if opinion.holds is None and opinion.evidence and found.telling and not found.fell and not opinion.alike:
        return replace(opinion, holds=True, because="", missing=())
    if opinion.holds is False or not found.fell:
        return opinion
    one = found.fell[-1]
    mine = _own(one.experiment, layer, opinion.cause.value)
    assert mine is not None
    got = amount(measured(one, mine.metric).value, mine)
    because = f"{one.experiment.changes} gives {got}, but it predicted {mine.words}"
    return replace(opinion, holds=False, because=because, missing=())


def story(tried: tuple[Tried, ...]) -> tuple[ExperimentRecord, ...]:
    """The experiments in their order: what agreed, what fell, what was left open."""
    told = []
    for one in tried:
        sorts: dict[bool | None, list[str]] = {True: [], False: [], None: []}
        for p in predictions_of(one.experiment):
            name = f"{p.layer}: {p.cause}" if p.cause else "the finding"
            held = holds(p, measured(one, p.metric))
            sorts[None if p.rival and p.idle else held].append(name)
        told.append(
            ExperimentRecord(
                outcome=outcome(one), agreed=tuple(sorts[True]), fell=tuple(sorts[False]), open=tuple(sorts[None])
            )
        )
    return tuple(told)
