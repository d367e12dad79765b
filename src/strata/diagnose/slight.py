"""Whether a loss that no cause explains is one to be told: large enough, and no work of chance.

A known cause has evidence of its own; here the comparisons are all there is (also of a cost per request that no
experiment has told from other causes: it is what remains). Of many comparisons of equal layers some lie surely below
their line by chance, one in forty. So the worst workload of a pair has to lie below it against all comparisons of the
run (Bonferroni 1936), or more of the pair's workloads than chance brings (binomial, over all pairs).
"""

from __future__ import annotations

from strata.analyse.overall import by_chance, several_by_chance
from strata.diagnose.case import Pair
from strata.diagnose.own_limits import SLOW
from strata.diagnose.view import Point
from strata.model.analysis import Comparison

CHANCE = 0.01
"""What is taken for chance in a whole run, by each of the two: at most one healthy stack in fifty is blamed (with 0.05
one in ten)."""


def is_slight(pair: Pair, keys: frozenset[str]) -> bool:
    """Whether none of these workloads surely loses what a device must lose to be called anything, or chance may."""
    rows = [p for p in pair.view.affected if p.key in keys]
    return not any(surely_slow(p.comparison) for p in rows) or not _beyond_chance(pair, rows)


def surely_slow(one: Comparison) -> bool:
    """Whether it loses 1.25 times with its whole interval."""
    return (one.iops.value if one.iops.high is None else one.iops.high) <= 1 / SLOW


def _beyond_chance(pair: Pair, rows: list[Point]) -> bool:
    asked = pair.view.analysis.comparisons
    pairs = len({(c.layer, c.below) for c in asked})
    worst = min(by_chance(p.comparison) for p in rows)
    return worst * len(asked) < CHANCE or several_by_chance(len(rows), len(pair.view.points)) * pairs < CHANCE
