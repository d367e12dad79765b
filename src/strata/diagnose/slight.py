"""Whether a loss that no cause explains is one to be told: large enough, and no work of chance.

A known cause has evidence of its own; here the comparisons are all there is (also of a cost per request that no
experiment has told from other causes: it is what remains). Of many comparisons of equal layers some lie surely below
their line by chance, one in forty (`analyse.overall.beyond_chance`).
"""

from __future__ import annotations

import math

from strata.analyse.overall import beyond_chance
from strata.diagnose.case import Pair
from strata.diagnose.own_limits import SLOW
from strata.model.analysis import CellSummary, Comparison


def is_slight(pair: Pair, keys: frozenset[str]) -> bool:
    """Whether none of these workloads surely loses what a device must lose to be called anything, or chance may."""
    slow = [as_it_varies(p.comparison, p.upper, p.lower) for p in pair.view.affected if p.key in keys]
    if not any(map(surely_slow, slow)):
        return True
    return not beyond_chance(slow, len(pair.view.points), pair.view.analysis.comparisons)


def surely_slow(one: Comparison) -> bool:
    """Whether it loses 1.25 times with its whole interval."""
    return (one.iops.value if one.iops.high is None else one.iops.high) <= 1 / SLOW


def as_it_varies(one: Comparison, *sides: CellSummary | None) -> Comparison:
    """The comparison with no narrower interval than the rates of its cells over their own time give: two rounds of a
    rate that goes up and down may agree by chance."""
    known = [s.steadiness for s in sides if s is not None and s.steadiness is not None]
    # The error of a mean of shares is 1 at most: n values that are not below 0 deviate by √n times their mean at most.
    wide = math.exp(2 * math.hypot(*(min(1.0, s.spread / math.sqrt(max(1, s.bins))) for s in known)))
    if one.iops.low is None or one.iops.high is None:
        return one
    low, high = min(one.iops.low, one.iops.value / wide), max(one.iops.high, one.iops.value * wide)
    return one.model_copy(update={"iops": one.iops.model_copy(update={"low": low, "high": high})})
