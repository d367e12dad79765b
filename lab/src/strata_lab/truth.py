"""What an injection promises, as data: the ground truth of a diagnosis, and what must be seen here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from strata.model.finding import Cause
from strata.text import toml
from strata_lab.lab import Lab


class InjectionSeverity(StrEnum):
    """How hard it hits."""

    MILD = "mild"
    MARKED = "marked"
    SEVERE = "severe"


class ImpactMetric(StrEnum):
    """What the impact is a ratio of. Always more than 1 when the injection does what it is named after."""

    IOPS = "iops"
    """Healthy IOPS over injected IOPS."""
    TAIL = "tail"
    """Injected 99th percentile over the healthy one."""
    FLATTERS = "flatters"
    """Injected IOPS over healthy IOPS: a trap that makes figures too good."""


@dataclass(frozen=True)
class ProofCell:
    """One workload at one layer: ``top`` is the last layer of the stack, `disk` and `file system` are named."""

    layer: str
    rw: str
    bs: str
    iodepth: int
    more: tuple[str, ...] = ()
    """Further words of ``strata measure``."""
    runtime: str = "700ms"

    @property
    def text(self) -> str:
        """In one line."""
        return " ".join((self.rw, self.bs, f"depth {self.iodepth}", *self.more, "at", self.layer))


class How(StrEnum):
    """How a figure of the injected cell stands to the healthy one."""

    RISES = "rises"
    FALLS = "falls"
    STAYS = "stays"
    ABOVE = "above"
    """More than so much, whatever it was before."""


@dataclass(frozen=True)
class Signal:
    """A figure that the lab itself sees while the cell runs (`strata_lab.counters` names them), and what it must do.

    ``by`` is a factor for rises and falls, the factor it may not leave for stays, an amount for above.
    """

    figure: str
    how: How
    by: float

    def holds(self, healthy: float | None, injected: float | None) -> bool:
        """Whether it is so. A figure that was not seen holds nothing."""
        if injected is None or (healthy is None and self.how is not How.ABOVE):
            return False
        before = healthy or 0.0
        match self.how:
            case How.ABOVE:
                return injected > self.by
            case How.RISES:
                return injected > 0 and injected >= before * self.by
            case How.FALLS:
                return before > 0 and injected <= before / self.by
            case How.STAYS:
                return before > 0 and before / self.by <= injected <= before * self.by


HURTS_AT_ALL = 1.1
"""Below it an impact is within what equal cells differ by here."""

Severities = Mapping[InjectionSeverity, float]


def per_severity(mild: float, marked: float, severe: float) -> Severities:
    """One value for each."""
    return {InjectionSeverity.MILD: mild, InjectionSeverity.MARKED: marked, InjectionSeverity.SEVERE: severe}


@dataclass(frozen=True)
class Injection:
    """A known limit and everything that is true of it.

    ``inject(lab, value)`` puts it in, with the value of the asked severity; it must register an undo for what it makes.
    ``impact`` is the least ratio that the promised cell has to show.
    """

    title: str
    kind: str
    """medium, wire, server, client, data or neighbour."""
    layer: str
    """The layer that is to be blamed."""
    mechanism: str
    """How it is done here."""
    value: Severities
    unit: str
    inject: Callable[[Lab, float], None]
    cell: ProofCell
    impact: Severities
    hurts: ImpactMetric = ImpactMetric.IOPS
    signals: tuple[Signal, ...] = ()
    must: tuple[Cause, ...] = ()
    """The causes that are true of it: a diagnosis must name one of these."""
    partly: tuple[Cause, ...] = ()
    """Causes that are so, but say less than there is to say: naming one is neither right nor wrong."""
    also: tuple[str, ...] = ()
    """Further layers that are rightly blamed: those that are seen to suffer from it themselves."""
    beside: tuple[tuple[str, Cause], ...] = ()
    """What it does elsewhere, a cause at a layer: as true as what it is for."""
    never: tuple[Cause, ...] = ()
    stack: str = "local"
    """A stack that can show it: what the self-test builds."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of the stack that it needs, also in the healthy twin."""
    prepare: Callable[[Lab], None] = lambda _: None
    """Done before the healthy twin is measured."""
    elsewhere: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What is different on other stacks that can show it: by the stack's name, fields of this class."""
    ceiling: Callable[[float], float] | None = None
    """The IOPS that the promised cell cannot exceed with that value in: what the model, the cap or the wire allows. Of
    an injection that hurts the tail: the 99th percentile that comes of it, in ms."""
    bounds: tuple[float, float] = (0, math.inf)
    """Between what the value may lie."""
    whole: bool = False
    """Whether it counts things."""
    fades: bool = False
    """Whether using it takes it away: then only the first measurement is of it."""
    everyday: bool = False
    """Whether the quick self-test has it; the full one has all, in every severity."""

    def on(self, stack: str) -> Injection:
        """What is true of it on that stack."""
        return replace(self, stack=stack, **self.elsewhere[stack]) if stack in self.elsewhere else self

    def at(self, position: float) -> float:
        """The value at that place of a scale on which mild is 0, marked 0.5 and severe 1: also between and beyond.

        Straight lines in the logarithm of the value; of one more than it where 0 is among the three.
        """
        mild, marked, severe = (self.value[s] for s in InjectionSeverity)
        more = 0.0 if severe and mild else 1.0
        begin, end = (mild, marked) if position < 0.5 else (marked, severe)
        along = 2 * position - (position >= 0.5)
        value = (begin + more) * ((end + more) / (begin + more)) ** along - more
        return self.checked(round(value) if self.whole else value)

    def checked(self, value: float) -> float:
        """The value, or the bound that it is beyond."""
        low, high = self.bounds
        return min(max(value, low), high)

    def least(self, severity: InjectionSeverity | None) -> float:
        """The ratio that is promised. With a value of one's own: that it hurts at all."""
        return self.impact[severity] if severity is not None else HURTS_AT_ALL

    def toml(
        self,
        cause: str,
        severity: InjectionSeverity | None,
        value: float,
        top: str = "top",
        mechanism: str | None = None,
    ) -> str:
        """The truth file: what a diagnosis of this lab has to say. ``top`` is the name of the last layer there.

        ``mechanism`` replaces the usual one where the lab does it in another way.
        """
        rows = {
            "class": self.kind,
            "cause": cause,
            "severity": severity.value if severity else "own",
            "layer": top if self.layer == "top" else self.layer,
            "mechanism": mechanism or self.mechanism,
            "value": value,
            "unit": self.unit,
            "cell": self.cell.text,
            "hurts": self.hurts.value,
            "impact_at_least": self.least(severity),
            "signals": [f"{s.figure} {s.how.value} {s.by:g}" for s in self.signals],
            "must": [c.value for c in self.must],
            "partly": [c.value for c in self.partly],
            "never": [c.value for c in self.never],
        }
        return "[[truth]]\n" + toml.lines(rows)
