"""What an application asks of storage: its workloads, and how well they must be served."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, model_validator

from strata import units
from strata.model.base import Value
from strata.model.estimate import Estimate
from strata.model.workload import Workload

LATENCIES = ("mean", "50", "90", "99", "99.9")
FLUSHES = tuple(f"flush {name}" for name in LATENCIES)
RATES = ("iops", "bytes_per_second")


class Goal(Value):
    """A bound on one figure of a workload.

    ``figure``: ``mean`` or a percentile of the latency in ns, the same of its flushes (``flush 99``), ``iops`` or
    ``bytes_per_second``. Latencies have a ``most``, perhaps a ``good`` one; rates a ``least``.
    """

    figure: str
    most: float | None = Field(default=None, gt=0)
    good: float | None = Field(default=None, gt=0)
    least: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _sound(self) -> Goal:
        if self.figure in RATES:
            if self.least is None or self.most is not None or self.good is not None:
                raise ValueError(f"{self.figure} takes least, but not most or good")
        elif self.figure in LATENCIES + FLUSHES:
            if self.most is None or self.least is not None:
                raise ValueError(f"{self.figure} takes most, but not least")
            if self.good is not None and self.good >= self.most:
                raise ValueError("good must be better than most")
        else:
            raise ValueError(f"{self.figure!r} is not one of {', '.join(LATENCIES + FLUSHES + RATES)}")
        return self

    @property
    def words(self) -> str:
        """``mean at most 20 ms (good: 4 ms)``."""
        if self.least is not None:
            least = units.rate(self.least) if self.figure == "bytes_per_second" else f"{units.count(self.least)} IOPS"
            return f"at least {least}"
        what, _, percentile = self.figure.rpartition(" ")
        name = "mean" if percentile == "mean" else f"p{percentile}"
        name = f"{name} of {what}es" if what else name
        good = f" (good: {units.duration(self.good)})" if self.good is not None else ""
        return f"{name} at most {units.duration(self.most or 0)}{good}"


class ProfileWorkload(Value):
    """One workload of a profile, under the name that people of the application know it by."""

    name: str = Field(min_length=1)
    workload: Workload
    why: str = ""
    goals: tuple[Goal, ...] = ()


class Profile(Value):
    """The workloads of an application; ``source`` says where sizes and goals come from."""

    name: str
    title: str
    source: str
    workloads: tuple[ProfileWorkload, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _apart(self) -> Profile:
        keys = [w.workload.key for w in self.workloads]
        names = [w.name for w in self.workloads]
        twice = [name for name, key in zip(names, keys, strict=True) if keys.count(key) > 1]
        twice += [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"given twice: {', '.join(dict.fromkeys(twice))}")
        return self


class GoalOutcome(StrEnum):
    """What the whole interval of the figure says of the goal; a good one is met with room."""

    GOOD = "good"
    MET = "met"
    MISSED = "missed"
    CANNOT_TELL = "cannot tell"
    NOT_MEASURED = "not measured"


class GoalResult(Value):
    """One goal at one layer. ``value``: ns, IOPS or bytes per second; None where it was not measured."""

    layer: str
    workload: str
    """The name in the profile."""
    goal: Goal
    outcome: GoalOutcome
    value: Estimate | None = None
