"""A shorter or longer way to the server, where the layer behind it was measured too.

At the load in question an I/O takes N ÷ X; behind the wire it takes as long as the layer below does with the I/Os that
are there then. What is left is the way: its round trips, and the work at both ends, which the counters tell. It may be
more round trips than one (a window that is full, a reply that waits for an acknowledgement), and all of them grow with
the way.
"""

from __future__ import annotations

import numpy as np

from strata import units
from strata.analyse.scaling import whatif
from strata.analyse.scaling.beneath import SAME, Beneath, windowed
from strata.analyse.scaling.busy import FULL
from strata.analyse.scaling.fitted import Fitted
from strata.analyse.scaling.least import Curve
from strata.analyse.scaling.whatif import RTT, ChangeGain, Demands

WORKS = ("server", "quota")
"""Kinds of resources at the ends of the way that each I/O asks for."""


def wire_gain(
    found: Fitted, below: Fitted, demands: Demands, factor: float, at: float
) -> tuple[ChangeGain, str] | None:  # fmt: skip
    """With ``factor`` times the round trip; None where the time of an I/O is not the way and the layer below."""
    top, under = found.traced(), below.traced()
    trip = demands.apart[RTT]
    way = _way(top.curve, under.curve, at)
    seen = top.curve.most is not None and top.curve.rate(top.most_load) >= FULL * top.curve.most
    if (seen and windowed(top.curve, under.curve)) or way is None or way < trip:
        return None
    works = sum(d.seconds for d in demands.each if d.name.partition("@")[0] in WORKS)
    moves = max(trip, way - works)
    gain = _moved(under.curve, way, moves, factor, at)
    draws = [
        _moved(b, w, max(trip, w - works), factor, at)
        for a, b in zip(top.draws, under.draws, strict=False)
        if (w := _way(a, b, at)) is not None
    ]
    # At the least one round trip follows the wire; what else there is of the way may stay as it is.
    least = _moved(under.curve, way, trip, factor, at)
    ends = [float(q) for q in np.quantile(draws, [0.025, 0.975])] if draws else []
    rests = f"{units.duration(way * 1e9)} per I/O on the way to the layer below: "
    rests += f"{units.significant(moves / trip, 2)} round trips of {units.duration(trip * 1e9)}"
    rests += f", and {units.duration((way - moves) * 1e9)} of work that does not change" if way > moves else ""
    return whatif.told(found, at, [gain], [least, *ends]), rests


def _way(top: Curve, below: Curve, at: float) -> float | None:
    """Seconds of an I/O that are not the layer below's, at the load or, where that layer is full then, at the largest
    at which it is not."""
    most = min(below.most or np.inf, top.most or np.inf)
    rate = top.rate(at)
    while rate > SAME * most and at > 1:
        at = max(1.0, at / 1.25)
        rate = top.rate(at)
    inside = Beneath(below, 0.0).inside(rate)
    return (at - inside) / rate if at > inside and rate > 0 else None


def _moved(below: Curve, way: float, moves: float, factor: float, at: float) -> float:
    now, then = Beneath(below, way), Beneath(below, way + moves * (factor - 1))
    return then.rate(at) / now.rate(at)
