"""What a running measurement tells whoever watches it."""

from __future__ import annotations

from enum import StrEnum

from strata.model.base import Value


class Phase(StrEnum):
    """The stages of a run, in order."""

    SURVEY = "survey"
    PREPARE = "prepare"
    GENERATOR = "generator"
    PRECONDITION = "precondition"
    MEASURE = "measure"
    CONFIRM = "confirm"
    REPORT = "report"
    VERIFY = "verify"


class Progress(Value):
    """One moment of a run. ``step`` counts from 1; rates are of the last interval, None before the first.

    ``finished`` marks the last event of a step; its rates are those of the whole step.
    """

    phase: Phase
    message: str = ""
    layer: str | None = None
    label: str | None = None
    round: int | None = None
    rounds: int | None = None
    step: int | None = None
    steps: int | None = None
    iops: float | None = None
    bytes_per_second: float | None = None
    p99_ns: float | None = None
    seconds_left: float | None = None
    finished: bool = False
    error: str | None = None
