"""Whether layers may be called equal to what they stand on, also where single workloads are too noisy to tell.

The line is the overhead that was stated, for one workload and for all. A workload that noise hides (`?`) does not spoil
the verdict where the mean over all workloads of that pair lies within what was stated: "0.98 (0.94–1.02) over all". The
mean is that of DerSimonian and Laird (1986): precise workloads count for more, and workloads that differ by more than
their noise widen its interval. A workload below the line is a doubt of its own where it does not agree with that mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from strata import units
from strata.analyse.overall import Pooled, pooled, standard_error
from strata.diagnose.evidence import differential
from strata.model.analysis import Analysis, Comparison, Equivalence
from strata.model.estimate import Estimate
from strata.model.finding import Evidence
from strata.model.groups import grouped

MOST_TOLERANCE = 0.4
"""With a wider noise floor no single workload says anything, and a mean of such workloads is no mean of alike ones."""
HIDDEN = 0.15
"""A best estimate this far below the line is a doubt, whatever the mean over all workloads is."""


@dataclass(frozen=True)
class InconclusivePair:
    """A comparison that cannot be told, and the rounds that would be needed to (infinite when none would)."""

    layer: str
    text: str
    rounds_needed: float


def pairs(analysis: Analysis) -> dict[tuple[str, str], list[Comparison]]:
    """Comparisons by (layer, below)."""
    return grouped(((one.layer, one.below), one) for one in analysis.comparisons)


def doubts(analysis: Analysis) -> tuple[InconclusivePair, ...]:
    """What keeps the layers from being called equal, the worst first. Layers that are above are not asked here."""
    found = []
    noise = analysis.noise
    for group in pairs(analysis).values():
        whole = pooled(group)
        first = group[0]
        unsure = [c for c in group if c.verdict is Equivalence.CANNOT_TELL]
        if whole is None:
            found += [InconclusivePair(one.layer, "One round gives no interval", 3) for one in unsure]
            continue
        loud = noise.tolerance / MOST_TOLERANCE
        if loud > 1 or (unsure and whole.low <= first.line):
            rounds = max(math.ceil(first.iops.n * loud**2) + 1, _needed(first.iops.n, whole, first.line))
            found.append(InconclusivePair(first.layer, _over_all(first, whole), rounds))
        found += [
            InconclusivePair(c.layer, _text(c), _needed(c.iops.n, c.iops, c.line)) for c in unsure if _differs(c, whole)
        ]
    return tuple(sorted(found, key=lambda d: -d.rounds_needed))


def _differs(one: Comparison, whole: Pooled) -> bool:
    """Whether the mean over all workloads does not speak for this one, whose own best estimate is below the line."""
    value = one.iops.value
    if value > one.line:
        return False
    away = math.log(whole.value / value) / standard_error(one.iops)
    return not whole.alike or away > whole.far or value <= one.line * (1 - HIDDEN)


def _over_all(first: Comparison, whole: Pooled) -> str:
    return (
        f"{first.layer} over {first.below}: {whole.told()} over all workloads, allowed loss "
        f"{units.percent(first.expected_overhead, 2)}"
    )


def _text(one: Comparison) -> str:
    low, high = one.iops.low or 0.0, one.iops.high or 0.0
    return (
        f"{one.layer}, {one.workload_key}: the ratio is between {low:.2f} and {high:.2f}, on both sides of the limit "
        f"of {one.line:.2f}"
    )


def _needed(rounds: int, seen: Estimate | Pooled, line: float) -> float:
    """Rounds until the interval lies on one side of ``line``, if the best estimate stays where it is."""
    if not seen.low or not seen.high:
        return 3
    half, away = math.log(seen.high / seen.low) / 2, abs(math.log(seen.value / line))
    return math.ceil(rounds * (half / away) ** 2) + 1 if away > 0.01 else math.inf


def statements(analysis: Analysis) -> tuple[tuple[str, str, str], ...]:
    """(layer, what was seen, its worst row and what is expected) for each pair."""
    found = []
    for (layer, below), group in pairs(analysis).items():
        whole = pooled(group)
        if whole is None:
            continue
        low = min(c.iops.value for c in group)
        text = f"{whole.told()} of {below}'s IOPS over {len(group)} workloads"
        detail = f"at least {low:.2f}, allowed loss {units.percent(group[0].expected_overhead, 2)}"
        found.append((layer, text, detail))
    return tuple(found)


def evidence(analysis: Analysis) -> tuple[Evidence, ...]:
    """Differential evidence that nothing costs more than expected."""
    return tuple(
        differential(
            f"{layer} gives {text}; {detail}",
            (f"{layer}/{c.workload_key}" for c in analysis.comparisons if c.layer == layer),
        )
        for layer, text, detail in statements(analysis)
    )


def margin(analysis: Analysis) -> float:
    """How far the least pooled ratio lies above its line, in half-widths."""
    found = []
    for group in pairs(analysis).values():
        whole = pooled(group)
        if whole is not None:
            found.append(math.log(whole.value / group[0].line) / math.log(whole.value / whole.low))
    return max(0.0, min(found, default=0.0))
