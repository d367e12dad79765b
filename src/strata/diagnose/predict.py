"""What a cause predicts of an experiment's cell: by its own rule where it has one, else by the shape of its limit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from strata.diagnose import few_at_once, models, over_time
from strata.diagnose.case import Case, Pair
from strata.diagnose.models import LimitKind
from strata.diagnose.opinion import Opinion
from strata.diagnose.registry import Range, rule
from strata.diagnose.sides import CauseSide, on
from strata.diagnose.view import Point
from strata.model.cause import Cause
from strata.model.experiment import Condition, Experiment, Metric, Prediction
from strata.model.workload import Workload

AS_FULL, CLEARLY = 0.8, 1.5
"""Of the most bytes that a layer moves in the cells that a limit of bytes explains: less does not fill it. ``CLEARLY``:
times as many requests as fill it, at least, that would come if it were not there."""
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
    at = _reference(case, layer, experiment)
    if found is None and (shaped := _by_shape(case, opinion.model, layer, experiment)) is not None:
        found, at = shaped
        if opinion.adds and metric == Metric.IOPS:
            found = _beside_another(case, opinion, layer, experiment, found)
    if found is None:
        found = _by_fullness(case, opinion, layer, experiment)
    if found is None:
        return None
    low, high = widened(case, *_over_episodes(case, opinion, layer, experiment, found))
    who = {"cause": opinion.cause.value, "layer": layer}
    idle = opinion.cause in on(CauseSide.OTHERS) or (opinion.in_turns and _deeper(case, layer, experiment))
    return Prediction(metric=metric, low=low, high=high, unit=experiment.prediction.unit, at=at, idle=idle, **who)


def _over_episodes(case: Case, opinion: Opinion, layer: str, experiment: Experiment, found: Range) -> Range:
    """Where what it stands on stands still at times: what is full goes on as long as its own queue lasts, so that with
    more bytes under way it gives up to what it gives between the episodes, and with fewer as much less."""
    station = case.station(layer)
    cell = None if station is None else station.cell(experiment.reference)
    full = experiment.prediction.metric == Metric.IOPS and opinion.cause in on(CauseSide.FULL)
    if station is None or cell is None or not full:
        return found
    more = _under_way(experiment.workload) / _under_way(cell.workload)
    times = max((over_time.between(case, one.name) for one in case.stack.stands_on(station.layer)), default=1.0)
    low, high = found
    return (low / times if more < 1 else low), (high * times if more > 1 else high)


def _under_way(workload: Workload) -> float:
    """Bytes that are asked for at once."""
    return workload.outstanding * workload.bs_moments[0]


def _deeper(case: Case, layer: str, experiment: Experiment) -> bool:
    """Whether more is outstanding than in its reference: from no gain to all of it, what serves in turns allows
    anything there, so to be right with it confirms nothing."""
    cell = case.analysis.summary(experiment.reference_layer or layer, experiment.reference)
    return cell is not None and experiment.workload.outstanding > cell.workload.outstanding


def widened(case: Case, low: float, high: float) -> Range:
    """The same with what the model and the noise may be off."""
    wide = math.exp(slack(case.analysis.noise.tolerance))
    return low / wide, high * wide


def unlimited(case: Case, opinion: Opinion, experiment: Experiment) -> Prediction | None:
    """The IOPS of another workload at the layer of ``opinion`` without its limit: what is below gives, and of two
    effects that were fitted together the time that each request takes longer; None where nothing says so."""
    if not _plain(opinion.layer, experiment):
        return None
    for pair, point in case.rows(opinion.layer, experiment.reference):
        low, high = widened(case, *_without_its_limit(pair, opinion.model, point, experiment.workload))
        return experiment.prediction.model_copy(update={"metric": Metric.IOPS, "low": low, "high": high})
    return None


def _reference(case: Case, layer: str, experiment: Experiment) -> float | None:
    """IOPS of the reference, as they were in the run; None where something else is predicted."""
    station = case.station(experiment.reference_layer or layer)
    cell = None if station is None else station.cell(experiment.reference)
    return None if cell is None or experiment.prediction.metric != Metric.IOPS else cell.iops.value


def of_model(case: Case, model: models.Fit, layer: str, experiment: Experiment) -> Prediction | None:
    """What a limit of this shape predicts, whichever cause may bring it about."""
    shaped = _by_shape(case, model, layer, experiment)
    if shaped is None:
        return None
    (low, high), at = shaped
    low, high = widened(case, low, high)
    return experiment.prediction.model_copy(update={"low": low, "high": high, "at": at})


def _by_shape(
    case: Case, model: models.Fit | None, layer: str, experiment: Experiment
) -> tuple[Range, float | None] | None:
    """Only for another workload at the layer that is blamed: a shape knows of nothing else. Beside it what the same
    shape makes of the reference, where IOPS are asked for: the cell itself may have been off."""
    if model is None or not _plain(layer, experiment):
        return None
    metric = experiment.prediction.metric
    for pair, point in case.rows(layer, experiment.reference):
        found = of_shape(pair, model, point, experiment.workload, metric)
        before = of_shape(pair, model, point, point.workload, metric)
        if found is None or before is None or metric != Metric.IOPS:
            return None if found is None else (found, None)
        return found, math.sqrt(before[0] * before[1])
    return None


def _beside_another(case: Case, opinion: Opinion, layer: str, experiment: Experiment, found: Range) -> Range:
    """Down to what is left beside another limit, which holds back slow rows beyond what it makes of them: each request
    passes that as well, at the rate that those rows show (the asymptotic bound; Lazowska et al., 1984)."""
    low, high = found
    size = experiment.workload.bs_moments[0]
    for pair, point in case.rows(layer, experiment.reference):
        rest = [p for p in _held_back_more(pair, opinion) if p.workload.rw.writes == point.workload.rw.writes]
        moved = max((p.x * p.bs for p in rest), default=math.inf)
        time = max(size / moved, 1 / point.x if point in rest else 0.0)
        low = min(low, 1 / (1 / low + time))
        if point in rest and experiment.workload.outstanding < point.n:
            # What is full there gives as much to fewer.
            high = max(high, point.x)
    return low, high


def _held_back_more(pair: Pair, opinion: Opinion) -> list[Point]:
    """Slow rows of which it explains nothing, or that give less than the least that it predicts."""
    least = {row.cell: row.low for row in opinion.rows}
    slow = pair.view.affected
    return [p for p in slow if p.key not in opinion.cells or p.x < least.get(pair.view.cell(p), 0.0)]


def _plain(layer: str, experiment: Experiment) -> bool:
    """Whether nothing but the workload is another one."""
    same = experiment.condition is Condition.NONE and experiment.reference_layer in (None, experiment.layer)
    return same and experiment.layer == layer


def _by_fullness(case: Case, opinion: Opinion, layer: str, experiment: Experiment) -> Range | None:
    """What is full gives as much at more depth, and at less at most in proportion less; by size as it counts.

    What serves all that wait in each of its turns may give in proportion more at more depth, too. So may what others
    fill, as requests wait behind theirs; by size it gives anything between as many requests and as many bytes.
    """
    station = case.station(layer)
    cell = None if station is None else station.cell(experiment.reference)
    # What is full in the cells that it explains claims nothing of others.
    explained = cell is not None and (not opinion.cells or cell.workload.key in opinion.cells)
    filled = explained and opinion.cause in on(CauseSide.FULL)
    if cell is None or station is None or not filled or not _plain(layer, experiment):
        return None
    if opinion.cause in on(CauseSide.BYTES):
        mine = [c.bytes_per_second.value for c in station.cells if c.workload.key in opinion.cells]
        if cell.bytes_per_second.value < AS_FULL * max(mine, default=0.0):
            return None
    before, after, x = cell.workload, experiment.workload, cell.iops.value
    if experiment.prediction.metric != Metric.IOPS or before.resized(after.bs / before.bs).pattern != after.pattern:
        return None
    deeper, larger = after.outstanding / before.outstanding, after.bs / before.bs
    others = opinion.cause in on(CauseSide.OTHERS)
    of_bytes = opinion.cause in on(CauseSide.BYTES) and not others
    if of_bytes and larger < 1 and not _still_full(case, layer, experiment, x / larger):
        return None
    ends = [x, x * (deeper if opinion.in_turns or others else min(1.0, deeper))]
    if of_bytes:
        ends = [end / larger for end in ends]
    elif opinion.cause is not Cause.IOPS_CAP:
        ends += [end / larger for end in ends]
    return min(ends), max(ends)


def _still_full(case: Case, layer: str, experiment: Experiment, iops: float) -> bool:
    """Whether what is below would surely give more of the smaller requests than fill it: else that limits them."""
    rows = case.rows(layer, experiment.reference)
    return all(iops * CLEARLY <= min(_below(pair, point, experiment.workload)) for pair, point in rows)


def of_shape(pair: Pair, found: models.Fit, point: Point, workload: Workload, metric: str) -> Range | None:
    """What the limit would make of ``workload``, which differs from ``point`` in depth or block size only."""
    if found.shape is LimitKind.DELAY and round(workload.bs_moments[0]) == point.bs:
        low, high = _with_time_of_its_own(pair, found, point, workload)
    else:
        low, high = iops(pair, found, point, workload)
    if metric == Metric.RATIO:
        at_low, at_high = iops(pair, found, point, point.workload)
        return low / at_low, high / at_high
    if metric == Metric.MEAN:
        return workload.outstanding / high * 1e9, workload.outstanding / low * 1e9
    return low, high


def _with_time_of_its_own(pair: Pair, found: models.Fit, point: Point, workload: Workload) -> Range:
    """At another depth: as many times the IOPS that were measured as any time gives, from what is certain up to the one
    that would make all of the loss. Where several are outstanding, a request may wait for the round trip of the one
    before it, too (Nagle's algorithm at the far end, RFC 896). Measured: a sixth less than one trip gives, at half the
    depth."""
    profile = pair.view.profile(point)
    certain = found.parameter + found.base
    delays = np.array([certain, max(certain, point.added), certain])
    oftener = np.array([1, 1, found.times]) if workload.outstanding > 1 else np.ones(3)
    before = models.solve_profile(profile, point.n, delays)
    then = models.solve_profile(profile, workload.outstanding, delays * oftener)
    gains = then / before
    return float(np.min(gains)) * point.x, float(np.max(gains)) * point.x


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


def _without_its_limit(pair: Pair, found: models.Fit | None, point: Point, workload: Workload) -> Range:
    below = _below(pair, point, workload)
    if found is None or found.shape is LimitKind.DELAY or found.base <= 0:
        return below
    alone = replace(found, shape=LimitKind.DELAY, parameter=found.base, base=0.0)
    low, high = iops(pair, alone, point, workload)
    return min(low, *below), max(high, *below)


def _below(pair: Pair, point: Point, workload: Workload) -> Range:
    """What the layer below gives with ``workload``: by its profile over depths; between equal IOPS and equal bytes for
    another block size, nearer where two sizes tell what a byte adds."""
    profile = pair.view.profile(point)
    depths, rates = [d for d, _ in profile], [x for _, x in profile]
    n = workload.outstanding
    at = float(np.exp(np.interp(math.log(n), np.log(depths), np.log(rates))))
    deeper = at * n / depths[-1] if n > depths[-1] else at
    if n < depths[0]:
        # Where the least depth measured is full already, fewer give as much.
        at, deeper = rates[0] * n / depths[0], rates[0]
    share = point.bs / round(workload.bs_moments[0])
    ends = (at, deeper, at * share, deeper * share)
    return few_at_once.below(pair.view, point, workload, (min(ends), max(ends)))
