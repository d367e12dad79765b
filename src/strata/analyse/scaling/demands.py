"""What each I/O asks of every counted resource: the slope of its use over the rate, of all points of a sweep.

What a resource does for others, or at rest, is the use at a rate of nothing: it takes away from what there is, and is
no demand. A resource whose use does not follow the rate has none that could be told, nor has one of which others use a
part while the rate hardly grows (`SPAN`). A card and a quota of the path serve the path alone: what each I/O asks of
them is use ÷ rate, also where all points have the same rate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strata.analyse.scaling.busy import CARD, QUOTA
from strata.analyse.scaling.whatif import RTT, Demand, Demands
from strata.analyse.series.longrun import Floats
from strata.model.resources import NS
from strata.model.scale import ScalePoint

OWN = (CARD, QUOTA)
"""Kinds of resources that the path has for itself."""
SPAN = 1.5
"""Times that the largest rate is of the smallest at least, for a slope."""
NEAR = 2.0
"""Times more or less load than is asked for, within which a point tells what an I/O asks of a quota there."""
HELD = 0.85
"""Mean share in use of a quota near that load, from which on it is what limits there."""
LEAST_POINTS, TOLD = 4, 3.0
"""Points of a demand at least, and standard errors that its slope has to lie above nothing."""


def demands_of(points: Sequence[ScalePoint], load: float | None = None) -> Demands:
    """Of the points of one layer; the round trip to its server is a part of the delay that has a name. ``load``: I/Os
    in flight that are asked for; None: the largest."""
    load = max((float(p.outstanding) for p in points), default=1.0) if load is None else load
    each = []
    for name in dict.fromkeys(b.name for p in points for b in p.busy if b.servers and b.demand_ns is not None):
        used = [
            (p.iops.value, b.share * (b.servers or 0.0), b.servers or 0.0, b.per_byte or 0.0, float(p.outstanding))
            for p in points
            for b in p.busy
            if b.name == name
        ]
        x, y, servers, per_byte, loads = (np.array(column) for column in zip(*used, strict=True))
        kind = name.partition("@")[0]
        near = _near(loads, load) if kind == QUOTA else np.full(len(x), fill_value=True)
        found = _ratio(x[near], y[near]) if kind in OWN else _slope(x, y)
        full = kind == QUOTA and float(np.mean(y[near] / servers[near])) >= HELD
        if found is not None:
            slope, error, rest = found
            # Never more than a twentieth less than what was seen at work: the line is not the counter.
            least = max(float(servers[-1]) - max(rest, 0.0), 0.95 * float((y - max(rest, 0.0)).max()), 1e-6)
            varies = float(np.std(y / x) / np.mean(y / x)) if kind == QUOTA else 0.0
            each.append(Demand(name, slope, least, error, float(per_byte[-1]), full, varies))
    trips = [p.rtt_ns for p in points if p.rtt_ns is not None]
    return Demands(tuple(each), {RTT: min(trips) / NS} if trips else {})


def _near(loads: Floats, load: float) -> Floats:
    """Which of the points lie about that load: two at least."""
    apart = np.abs(np.log(loads / load))
    return np.asarray(apart <= max(np.log(NEAR), float(np.sort(apart)[:2].max())) + 1e-9)


def _ratio(x: Floats, y: Floats) -> tuple[float, float, float] | None:
    """(use ÷ rate where the rate is largest, its spread as a share, nothing at rest)."""
    if len(x) < 2 or float(x.min()) <= 0:
        return None
    each = (y / x)[np.argsort(x)[-LEAST_POINTS:]]
    middle = float(np.mean(each))
    return (middle, float(np.std(each, ddof=1)) / middle / len(each) ** 0.5, 0.0) if middle > 0 else None


def _slope(x: Floats, y: Floats) -> tuple[float, float, float] | None:
    """(slope, its standard error as a share, use at rest); None where it is not clearly above nothing."""
    if len(x) < LEAST_POINTS or float(x.max()) < SPAN * float(x.min()):
        return None
    middle = x - x.mean()
    slope = float(middle @ y / (middle @ middle))
    rest = float(y.mean() - slope * x.mean())
    left = y - slope * x - rest
    error = float(np.sqrt(left @ left / (len(x) - 2) / (middle @ middle)))
    return (slope, error / slope, rest) if slope > TOLD * error else None
