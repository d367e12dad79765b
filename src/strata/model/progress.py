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


class Glance(Value):
    """What the counters say of this moment, for who watches; what is not known is None.

    ``device_depth``: requests in flight at the busiest device. Bytes per second on all interfaces but the loopback, or
    on the loopback where nothing else moved.
    """

    device_depth: float | None = None
    wire_tx_bytes_per_second: float | None = None
    wire_rx_bytes_per_second: float | None = None


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
    now: Glance = Glance()
    seconds_left: float | None = None
    finished: bool = False
    error: str | None = None
