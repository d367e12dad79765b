"""How one measurement went over its time: ramp, regimes, and what ended it."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from strata.model.base import Value
from strata.model.estimate import Estimate


class Ending(StrEnum):
    """What ended a measurement that was to go on until it was precise."""

    PRECISION = "precision"
    TIME = "maximum time"
    BYTES = "byte budget"
    STARTS = "noise floor"
    """This start is as precise as asked; what equal starts differ by forbids it of their mean."""


class Aim(Value):
    """Measure until the 95 % intervals are so narrow: half-widths as shares (0.02 = 2 %).

    ``mean`` is that of IOPS, ``percentile_within`` that of ``percentile`` ("99"); None: no percentile is asked.
    ``seconds_min`` of the regime it is in, ``seconds_max`` in all, ``bytes_max`` moved in all.
    """

    mean: float = Field(default=0.02, gt=0, lt=1)
    percentile: str | None = "99"
    percentile_within: float = Field(default=0.05, gt=0, lt=1)
    seconds_min: float = Field(default=3.0, gt=0)
    seconds_max: float = Field(default=60.0, gt=0)
    bytes_max: int | None = Field(default=None, gt=0)


class Regime(Value):
    """A stretch of one level: seconds from the end of the engine's ramp. ``steady`` by the course's criterion."""

    start_s: float
    end_s: float
    iops: Estimate
    steady: bool


class Course(Value):
    """One measurement over its time.

    ``criterion`` names how the ramp's end and steadiness were judged; ``ramp_s`` was cut at the begin. ``regimes`` are
    in order and never averaged; the figures are those of the last. ``alternates``: the level changed so often
    that the figures are those of all that follows the ramp. ``effective`` are the independent bins the mean is worth,
    ``correlation_s`` for how long its bins go together. ``ended``: None where no precision was asked, or another
    reason (a signal, an error) ended it; ``reached``: whether the intervals became as narrow as asked.

    ``between`` is the relative standard deviation of equal starts that earlier runs showed: it is in the intervals of
    ``iops`` and ``bytes_per_second``, not in those of times and of single regimes; ``between_df`` are its degrees of
    freedom (one less than the runs of this very cell, where it is known from those). None: not known.
    """

    criterion: str
    ramp_s: float
    bin_s: float
    regimes: tuple[Regime, ...]
    alternates: bool
    steady: bool
    iops: Estimate
    bytes_per_second: Estimate
    mean_ns: Estimate | None
    latency_ns: dict[str, Estimate]
    effective: float
    correlation_s: float
    aim: Aim | None = None
    ended: Ending | None = None
    reached: bool | None = None
    between: float | None = None
    between_df: float | None = None
