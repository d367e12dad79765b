"""What a cause predicts of an experiment's cell: by its own rule where it has one, else by the shape of its limit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from strata.diagnose import models
from strata.diagnose.case import Case, Pair
from strata.diagnose.opinion import Opinion
from strata.diagnose.registry import Range, rule
from strata.diagnose.view import Point
from strata.model.experiment import Condition, Experiment, Metric, Prediction
from strata.model.workload import Workload

UNIT = {
    Metric.IOPS: "IOPS",
    Metric.MEAN: "ns",
    Metric.RATIO: "ratio",
    Metric.STALLED: "share",
    Metric.SLOWED: "share",
}


def slack(tolerance: float) -> float:
    """Half the width of a prediction on logs: 12 % for the model and two tolerances for the noise, at most 35 %.

    The runner-up predicts at least 1.5 times more or less, so a wider range would no longer refute anything.
    """
    return min(0.35, 0.12 + 2 * tolerance)


def predicted(case: Case, opinion: Opinion, layer: str, experiment: Experiment) -> Prediction | None:
    """What ``opinion`` about ``layer`` predicts, widened for the model and the noise; None where it says nothing."""
    metric = experiment.prediction.metric
    own = rule(opinion.cause)
    found = own.predict(case, opinion, experiment) if own is not None and own.predict is not None else None
    if found is None:
        found = _by_shape(case, opinion, layer, experiment)
    if found is None:
        return None
    wide = math.exp(slack(case.analysis.noise.tolerance))
    return Prediction(
        metric=metric,
        low=found[0] / wide,
        high=found[1] * wide,
        unit=experiment.prediction.unit,
        cause=opinion.cause.value,
        layer=layer,
    )


def _by_shape(case: Case, opinion: Opinion, layer: str, experiment: Experiment) -> Range | None:
    """Only for another workload at the layer that is blamed: a shape knows of nothing else."""
    plain = experiment.condition is Condition.NONE and experiment.reference_layer in (None, experiment.layer)
    if opinion.model is None or not plain or experiment.layer != layer:
        return None
    for pair in case.pairs:
        point = next((p for p in pair.view.everything if p.key == experiment.reference), None)
        if pair.view.layer.name == layer and point is not None:
            return of_shape(pair, opinion.model, point, experiment.workload, experiment.prediction.metric)
    return None


def of_shape(pair: Pair, found: models.Fit, point: Point, workload: Workload, metric: str) -> Range | None:
    """What the limit would make of ``workload``, which differs from ``point`` in depth or block size only."""
    low, high = iops(pair, found, point, workload)
    if metric == Metric.RATIO:
        at_low, at_high = iops(pair, found, point, point.workload)
        return low / at_low, high / at_high
    if metric == Metric.MEAN:
        return workload.outstanding / high * 1e9, workload.outstanding / low * 1e9
    return low, high


def iops(pair: Pair, found: models.Fit, point: Point, workload: Workload) -> Range:
    """Lowest and highest IOPS of this layer under the limit, from what the layer below would give."""
    one = np.array([found.parameter])
    ends = []
    for below in _below(pair, point, workload):
        cell = point.lower.model_copy(
            update={"iops": point.lower.iops.model_copy(update={"value": below, "low": None, "high": None})}
        )
        moved = replace(point, workload=workload, lower=cell)
        low, high = models.predict(pair.view, moved, found.shape, found.scope, parameter=one, base=found.base)
        ends += [float(low[0]), float(high[0])]
    return min(ends), max(ends)


def _below(pair: Pair, point: Point, workload: Workload) -> Range:
    """What the layer below gives with ``workload``: by its profile over depths; between equal IOPS and equal bytes for
    another block size."""
    profile = pair.view.profile(point)
    depths, rates = [d for d, _ in profile], [x for _, x in profile]
    n = workload.outstanding
    at = float(np.exp(np.interp(math.log(n), np.log(depths), np.log(rates))))
    if n < depths[0]:
        at = rates[0] * n / depths[0]
    deeper = at * n / depths[-1] if n > depths[-1] else at
    share = point.bs / round(workload.bs_moments[0])
    ends = (at, deeper, at * share, deeper * share)
    return min(ends), max(ends)
