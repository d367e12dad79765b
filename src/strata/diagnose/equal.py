"""Whether layers may be called equal to what they stand on, also where single workloads are too noisy to tell.

A workload whose interval straddles the line by noise alone (its best estimate lies above the line) does not spoil the
verdict when the mean log ratio over all workloads of that pair excludes the allowance. One whose best estimate lies
below the line is a doubt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from strata import units
from strata.model.analysis import Analysis, Comparison, Equivalence
from strata.model.finding import Evidence, EvidenceKind

MOST_TOLERANCE = 0.4
"""With a wider noise floor "within the allowance" would mean nothing: nearly any loss would be allowed."""
HIDDEN = 0.15
"""The mean over all workloads must exclude a loss this much beyond the expected one, whatever the noise."""


@dataclass(frozen=True)
class Doubt:
    """A comparison that cannot be told, and the rounds that would be needed to (infinite when none would)."""

    layer: str
    text: str
    rounds_needed: float


def pairs(analysis: Analysis) -> dict[tuple[str, str], list[Comparison]]:
    """Comparisons by (layer, below)."""
    found: dict[tuple[str, str], list[Comparison]] = {}
    for one in analysis.comparisons:
        found.setdefault((one.layer, one.below), []).append(one)
    return found


def pooled(comparisons: list[Comparison]) -> tuple[float, float, float] | None:
    """(ratio, low, high) of the geometric mean over workloads; None without intervals."""
    logs, variances = [], []
    for one in comparisons:
        if one.iops.low is None or one.iops.high is None or one.iops.low <= 0:
            continue
        logs.append(math.log(one.iops.value))
        variances.append((math.log(one.iops.high / one.iops.low) / 4) ** 2)
    if not logs:
        return None
    mean, half = sum(logs) / len(logs), 2 * math.sqrt(sum(variances)) / len(logs)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def doubts(analysis: Analysis) -> tuple[Doubt, ...]:
    """What keeps the layers from being called equal, the worst first. Layers that are above are not asked here."""
    found = []
    noise = analysis.noise
    for group in pairs(analysis).values():
        whole = pooled(group)
        first = group[0]
        if whole is not None and (noise.tolerance > MOST_TOLERANCE or whole[1] < 1 - first.expected_overhead - HIDDEN):
            text = f"{first.layer} over {first.below}: the mean ratio lies between {whole[1]:.2f} and {whole[2]:.2f}"
            hidden = max(noise.tolerance / MOST_TOLERANCE, math.log(whole[0] / whole[1]) / HIDDEN)
            found.append(Doubt(first.layer, text, math.ceil(first.iops.n * hidden**2) + 1))
        for one in group:
            if one.verdict is not Equivalence.CANNOT_TELL:
                continue
            line = 1 - one.allowance
            if whole is None:
                found.append(Doubt(one.layer, "One round gives no interval", 3))
            elif one.iops.value <= line or whole[1] <= line:
                found.append(Doubt(one.layer, _text(one, line), _needed(one, line)))
    return tuple(sorted(found, key=lambda d: -d.rounds_needed))


def _text(one: Comparison, line: float) -> str:
    low, high = one.iops.low or 0.0, one.iops.high or 0.0
    return (
        f"{one.layer}, {one.workload_key}: the ratio lies between {low:.2f} and {high:.2f}, on both sides of "
        f"the {line:.2f} that is allowed"
    )


def _needed(one: Comparison, line: float) -> float:
    if one.iops.low is None or one.iops.high is None or one.iops.low <= 0:
        return 3
    half = math.log(one.iops.high / one.iops.low) / 2
    away = abs(math.log(one.iops.value / line))
    return math.ceil(one.iops.n * (half / away) ** 2) + 1 if away > 0.01 else math.inf


def statements(analysis: Analysis) -> tuple[tuple[str, str], ...]:
    """(layer, what was seen) for each pair."""
    found = []
    for (layer, below), group in pairs(analysis).items():
        whole = pooled(group)
        if whole is None:
            continue
        low = min(c.iops.value for c in group)
        text = (
            f"{whole[0]:.2f} of {below}'s IOPS over {len(group)} workloads; interval {whole[1]:.2f}–{whole[2]:.2f}, "
            f"{low:.2f} at the least, {units.percent(group[0].expected_overhead, 2)} of loss expected"
        )
        found.append((layer, text))
    return tuple(found)


def evidence(analysis: Analysis) -> tuple[Evidence, ...]:
    """Differential evidence that nothing costs more than expected."""
    return tuple(
        Evidence(
            kind=EvidenceKind.DIFFERENTIAL,
            statement=f"{layer} gives {text}",
            cells=tuple(f"{layer}/{c.workload_key}" for c in analysis.comparisons if c.layer == layer),
        )
        for layer, text in statements(analysis)
    )


def margin(analysis: Analysis) -> float:
    """How far the least pooled ratio lies above its line, in half-widths."""
    found = []
    for group in pairs(analysis).values():
        whole = pooled(group)
        if whole is not None and whole[1] < whole[0]:
            line = 1 - group[0].allowance
            found.append(math.log(whole[0] / line) / math.log(whole[0] / whole[1]))
    return max(0.0, min(found, default=0.0))
