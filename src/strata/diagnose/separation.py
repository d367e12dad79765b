"""How well an experiment separates the causes that stand: how much of them it is expected to refute.

Each standing cause is true with some chance, by how it stands now. If it is, the outcome lies in its own prediction, on
logs anywhere alike; every other cause of which it then misses the prediction falls. What is expected to fall, over all
pairs, is what the experiment is worth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from strata.diagnose.opinion import Opinion, Weight
from strata.model.experiment import LEAST_RATIO, Prediction

HOLDS, SUGGESTED, MAY_BE = 1.0, 0.6, 0.3
"""Chances, before they are brought to a sum of 1: shown by a counter, by a shape, and not to be told yet."""
LEAST_APART = 0.5
"""Predictions that overlap by more than half are taken to be alike."""
ALONE = 0.25
"""What a test of a single cause is worth: it can fall. Two that stand alike are worth a half."""

Who = tuple[str | None, str | None]


def chances(predictions: Sequence[Prediction], standing: Sequence[Opinion]) -> Mapping[Who, float]:
    """Of each cause that stands or predicts, by (layer, cause). Who predicts and does not stand is the next best one,
    asked so that the experiment is none that it would pass as well."""
    raw: dict[Who, float] = {(p.layer, p.cause): MAY_BE for p in predictions}
    raw |= {(o.layer, o.cause.value): _standing(o) for o in standing}
    whole = sum(raw.values()) or 1.0
    return {who: one / whole for who, one in raw.items()}


def _standing(opinion: Opinion) -> float:
    if not opinion.holds:
        return MAY_BE
    return HOLDS if opinion.weight is Weight.SHOWN else SUGGESTED


def worth(predictions: Sequence[Prediction], standing: Sequence[Opinion]) -> float:
    """0..1: the chance, over all causes that could be true, of those that would then fall.

    A prediction that nobody else can be compared with, and that is not idle, is worth `ALONE` of its own chance. One
    cause at two layers is no rival of itself: both may be so.
    """
    predictions = list({p.cause: p for p in reversed(predictions)}.values())
    by = chances(predictions, standing)
    if len(predictions) == 1:
        return 0.0 if predictions[0].idle else ALONE * by[predictions[0].layer, predictions[0].cause]
    return sum(
        by[true.layer, true.cause] * by[false.layer, false.cause] * apart(true, false)
        for true in predictions
        for false in predictions
        if true is not false and not (false.rival and false.idle)
    )


def apart(true: Prediction, false: Prediction) -> float:
    """0..1: how much of what ``true`` predicts lies outside of ``false``; 0 where it is less than half."""
    if true.metric != false.metric:
        return 0.0
    low, high = _log(true.low), _log(true.high)
    common = min(high, _log(false.high)) - max(low, _log(false.low))
    if high <= low:
        return float(common < 0)
    outside = 1 - max(0.0, common) / (high - low)
    return outside if outside >= LEAST_APART else 0.0


def _log(value: float) -> float:
    return math.log(max(value, LEAST_RATIO))
