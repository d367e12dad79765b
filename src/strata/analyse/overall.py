"""What all workloads of a pair of layers say together, where noise hides what each of them says.

The mean is that of DerSimonian and Laird (1986, "Meta-analysis in clinical trials"): workloads count by how sure they
are, and what they differ by beyond their noise (Cochran's Q, 1954) is added to the error of each.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.stats import PRIOR_DF
from strata.model.analysis import Comparison, Equivalence
from strata.model.estimate import Estimate
from strata.model.groups import grouped

DIFFER = 0.05
"""The chance of so different workloads by noise alone (Cochran's Q; the farthest of them), below which they are not of
one level."""
SURELY = 0.025
"""The chance that the whole of a 95 % interval lies below where the value does not."""
CHANCE = 0.01
"""What is taken for chance in a whole run, by each of two tests: at most one healthy stack in fifty is blamed (with
0.05 one in ten)."""


@dataclass(frozen=True)
class Pooled:
    """The geometric mean ratio over the workloads of a pair with its 95 % interval.

    ``alike``: together they differ by no more than noise explains; ``far``: from so many of its own standard errors
    below the mean on a workload is none of them.
    """

    value: float
    low: float
    high: float
    alike: bool
    far: float

    @property
    def error(self) -> float:
        """The standard error of its logarithm."""
        return math.log(self.high / self.low) / 4

    def told(self) -> str:
        """``0.98 (0.94–1.02)``."""
        return f"{self.value:.2f} ({self.low:.2f}–{self.high:.2f})"


def pooled(comparisons: Sequence[Comparison]) -> Pooled | None:
    """Over all workloads that have an interval; None where none has."""
    known = [c.iops for c in comparisons if c.iops.low and c.iops.high]
    if not known:
        return None
    from scipy.special import chdtrc, ndtri

    logs = np.log([e.value for e in known])
    variances = np.array([standard_error(e) for e in known]) ** 2
    weights = 1 / variances
    q = float(weights @ (logs - np.average(logs, weights=weights)) ** 2)
    spread = float(weights.sum() - weights @ weights / weights.sum())
    apart = max(0.0, (q - len(known) + 1) / spread) if spread > 0 else 0.0
    weights = 1 / (variances + apart)
    mean, half = float(np.average(logs, weights=weights)), 2 / math.sqrt(float(weights.sum()))
    alike = len(known) == 1 or float(chdtrc(len(known) - 1, q)) >= DIFFER
    far = -float(ndtri(DIFFER / len(known)))
    return Pooled(math.exp(mean), math.exp(mean - half), math.exp(mean + half), alike, far)


def standard_error(one: Estimate) -> float:
    """The standard error of its logarithm. Rounds that agree to the last digit are not infinitely sure."""
    return max(math.log(one.high / one.low) / 4, 0.001) if one.low and one.high else math.inf


def by_chance(one: Comparison) -> float:
    """The chance of a ratio so far below its line at a layer that costs just what is allowed; 1 without an interval."""
    error = standard_error(one.iops)
    if not math.isfinite(error):
        return 1.0
    from scipy.special import stdtr

    return float(stdtr(PRIOR_DF + one.iops.n - 1, math.log(one.iops.value / one.line) / error))


def several_by_chance(rows: int, of: int) -> float:
    """The chance of at least so many of a pair's comparisons surely below their line, where none costs too much."""
    from scipy.special import bdtrc

    return float(bdtrc(rows - 1, of, SURELY))


def beyond_chance(slow: Collection[Comparison], workloads: int, every: Sequence[Comparison]) -> bool:
    """Whether these of a pair's ``workloads`` lie below their line by more than the work of chance in a run of so many
    comparisons: the worst of them against all (Bonferroni 1936), or their number against that of pairs (binomial)."""
    pairs = len({(c.layer, c.below) for c in every})
    worst = min(map(by_chance, slow))
    return worst * len(every) < CHANCE or several_by_chance(len(slow), workloads) * pairs < CHANCE


def likeliest(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Those first that chance puts so far below their line least; what has no interval yet before all others."""
    return sorted(comparisons, key=lambda c: (math.isfinite(standard_error(c.iops)), by_chance(c)))


def doubted(every: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Those surely below their line, each by itself, that chance may have put there all the same; the likeliest loss
    first."""
    found: list[Comparison] = []
    for some in grouped(((c.layer, c.below), c) for c in every).values():
        slow = [c for c in some if c.verdict is Equivalence.ABOVE]
        if slow and not beyond_chance(slow, len(some), every):
            found += slow
    return tuple(likeliest(found))
