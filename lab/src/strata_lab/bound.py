"""What a promise needs of the healthy twin: where it does not get that, the machine is busy and nothing is shown."""

from __future__ import annotations

from dataclasses import dataclass

from strata_lab.client import CellMeasured
from strata_lab.lab import Lab
from strata_lab.truth import ImpactMetric, Injection, InjectionSeverity

# A short cell may hold what a burst, a cache or the ramp lets through.
_SLACK = 1.2


@dataclass(frozen=True)
class Bound:
    """``most`` is what the injection leaves at best: IOPS, or for a tail the 99th percentile in ms that it makes."""

    tail: bool
    least: float
    """The promised ratio."""
    most: float

    def lets(self, twin: CellMeasured) -> bool:
        """Whether the promise can be kept against that twin."""
        return _p99_ms(twin) <= self.most / self.least if self.tail else twin.iops >= self.least * self.most

    def holds(self, injected: CellMeasured) -> bool:
        """Whether the injection is in force: that more came through than can is a failure on any machine."""
        if self.tail:
            return _p99_ms(injected) >= self.most / _SLACK
        return injected.iops <= self.most * _SLACK

    @property
    def text(self) -> str:
        """In one line."""
        if self.tail:
            return (
                f"it gives a p99 of {self.most:,.0f} ms, and that of the healthy twin must be {self.least:g}x shorter"
            )
        return f"it leaves at most {self.most:,.0f} IOPS, and the healthy twin must reach {self.least:g}x of that"


def bound(truth: Injection, severity: InjectionSeverity | None, lab: Lab) -> Bound | None:
    """None where it is not known.

    It is that of a lab as the injection wants it: with another medium, or with two limits at once, the twin may be
    slow for that reason.
    """
    if severity is None or truth.ceiling is None or truth.hurts is ImpactMetric.FLATTERS or lab.facts("injection"):
        return None
    chosen = lab.last_fact("options") or {}
    if lab.stack != truth.stack or any(chosen.get(key) != value for key, value in truth.options.items()):
        return None
    return Bound(truth.hurts is ImpactMetric.TAIL, truth.impact[severity], truth.ceiling(truth.value[severity]))


def _p99_ms(cell: CellMeasured) -> float:
    return cell.p99_ns / 1e6
