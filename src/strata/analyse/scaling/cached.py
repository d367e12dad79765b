"""A larger cache, from a sweep over the working set.

Uniform I/Os over W bytes hit a cache of C as often as those over W ÷ k hit one of C ÷ k: the same points say what k
times the cache gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from strata import units
from strata.analyse.scaling import whatif
from strata.analyse.scaling.unpredicted import UnpredictedError
from strata.analyse.scaling.whatif import ChangeGain
from strata.model.scale import ScalePoint


def larger_cache(points: Sequence[ScalePoint], times: float, at: float) -> tuple[ChangeGain, str]:
    """``times`` the cache, at a working set of ``at`` bytes. Raises `UnpredictedError`."""
    if not points[0].value <= at / times <= points[-1].value or not points[0].value <= at <= points[-1].value:
        need = units.size(round(at / times))
        raise UnpredictedError(
            f"working sets of {need} and of {units.size(round(at))} are needed, and one lies outside of what was "
            "measured"
        )
    now, then = _between(points, "value", at), _between(points, "value", at / times)
    left = [
        max(abs(math.log(_between(points, end, w) / _between(points, "value", w))) for end in ("low", "high"))
        for w in (at, at / times)
    ]
    rests = f"the rate at a working set of {units.size(round(at / times))}, of which the same share is in the cache now"
    return _told(points, at, now, then / now, math.hypot(*left)), rests


def _told(points: Sequence[ScalePoint], at: float, now: float, gain: float, off: float) -> ChangeGain:
    """``off``: how far the gain may be off, as a logarithm."""
    one = points[0].iops.model_copy(update={"value": now, "low": None, "high": None})
    ends = {"low": gain * math.exp(-off), "high": gain * math.exp(off)}
    told = whatif.wider(one.model_copy(update={"value": gain, "unit": "ratio", **ends}))
    assert told.low is not None and told.high is not None
    rate = one.model_copy(update={"value": now * told.value, "low": now * told.low, "high": now * told.high})
    return ChangeGain(at, one, rate, told, None, False)


def _between(points: Sequence[ScalePoint], end: str, at: float) -> float:
    """The rate at a working set, on the line between two of them (of the time of an I/O over 1 ÷ W: the share of hits
    is a straight line there)."""
    x = np.array([1 / p.value for p in points])
    rates = np.array([e if (e := getattr(p.iops, end)) is not None else p.iops.value for p in points])
    return float(1 / np.interp(1 / at, x[::-1], (1 / rates)[::-1]))
