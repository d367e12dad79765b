"""How a rate follows a growing load: what was asked, points, the curve of each layer, and what a change brings."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from strata.model.axis import Axis
from strata.model.base import Value, sparse
from strata.model.ends import CycleCost
from strata.model.estimate import Estimate
from strata.model.workload import Workload


class ScaleAsk(Value):
    """What was asked. ``values`` is the ladder that is measured first; further ones are added where the curve bends.

    ``target``: half-width of a point's interval, as a share, at which it needs no more time. ``worth``: the gain of a
    doubling below which it is not worth it. ``what_if``: ``NAME=VALUE``. ``make``: the command that makes a point, as
    it was said; what a store says is never run.
    """

    axis: Axis
    values: tuple[int, ...]
    budget_s: float = Field(gt=0)
    target: float = Field(gt=0, lt=1)
    worth: float = Field(default=0.2, gt=0, lt=1)
    open_loop: bool = True
    what_if: tuple[str, ...] = ()
    make: str = sparse("")
    targets: tuple[str, ...] = sparse(())
    """Where there are several."""


class Busy(Value):
    """How much of a resource was used at a point: ``share`` 0..1 of ``of`` (``this machine's CPUs``).

    ``name`` is the word for it in ``--what-if``. ``servers``: how many of it there are; ``demand_ns``: what each I/O
    asks of it, with its interval over the rounds; both None where the share alone is known.
    """

    name: str
    of: str
    share: float
    servers: float | None = None
    demand_ns: Estimate | None = None
    per_byte: float | None = sparse(None)
    """Of a card: bytes that it sends for each byte of the application."""


class ScalePoint(Value):
    """One value of the axis at one layer. ``outstanding``: I/Os in flight that were asked. Times in ns.

    ``latency_ns`` by percentile, also that of one end (``90.server``, ``mean.wire``) where the server told its times.
    Of a table ``workload`` is None, and so is what it does not print.
    """

    layer: str
    value: int
    outstanding: int
    workload: Workload | None = None
    iops: Estimate
    bytes_per_second: Estimate | None = None
    mean_ns: Estimate | None = None
    latency_ns: dict[str, Estimate] = {}
    rounds: int = 1
    ios: int | None = None
    seconds: float | None = None
    cycles: tuple[CycleCost, ...] = ()
    busy: tuple[Busy, ...] = ()
    """The fullest first."""
    rtt_ns: float | None = sparse(None)
    """The least round trip of the connections to the server."""
    in_flight: dict[str, float] = sparse({})
    """Requests under way at each block device, mean."""
    under_way: tuple[tuple[float, float], ...] = sparse(())
    """Of each round: IOPS, and requests under way at all of these devices together."""


class OpenPoint(Value):
    """A fixed rate of arrivals, ``asked`` IOPS, which is ``share`` of the fitted limit. ``response_ns`` counts from the
    intended start. ``kept_up``: whether the rate that was asked was reached, within 2 % and what chance may take."""

    layer: str
    share: float
    asked: float
    iops: Estimate
    response_ns: dict[str, float]
    kept_up: bool


class Saturated(Value):
    """What is full at the knee. ``name`` None: unknown, and ``says`` says what was looked at."""

    name: str | None
    says: str
    share: float | None = None


class CacheEnd(Value):
    """A cache that the points over a working set show: its ``size`` in bytes, how many ``times`` as long a miss takes
    as a hit, and the share of reads that it ``answers`` of the ``largest`` working set."""

    size: Estimate
    times: float
    largest: int
    answers: float


class ScaleCurve(Value):
    """The curve of one layer. ``rate_unit`` is IOPS, or B/s where the block size grows.

    ``form`` None: no curve is told, and ``refused`` says why. ``limit`` is X_max, ``limit_at`` the load of the maximum
    (None: it is approached, and not passed), ``knee`` the load from which on more than half of an added load becomes
    waiting time, ``worth`` the load up to which a doubling gains the asked share. None: not reached. Loads are values
    of the axis. ``band``: (load, rate, lowest, highest) for a picture.
    """

    layer: str
    form: str | None = None
    refused: str = ""
    parameters: dict[str, float] = {}
    rms: float | None = None
    rate_unit: str = "IOPS"
    limit: Estimate | None = None
    limit_at: Estimate | None = None
    knee: Estimate | None = None
    worth: Estimate | None = None
    beyond: bool = False
    """Whether the knee lies beyond the largest load that was measured: the limit is then an extrapolation."""
    saturated: Saturated | None = None
    band: tuple[tuple[float, float, float, float], ...] = ()
    cache: CacheEnd | None = sparse(None)
    """Of a sweep over the working set."""


class WhatIf(Value):
    """What a change would bring at ``load`` (a value of the axis). ``refused``: why nothing is predicted."""

    asked: str
    layer: str
    load: float | None = None
    now: Estimate | None = None
    rate: Estimate | None = None
    gain: Estimate | None = None
    rests_on: str = ""
    refused: str = ""


class ScaledTask(Value):
    """A duration or a rate before and after there was ``factor`` times as much of what ``of`` counts.

    ``measured``: both with their intervals, ns, where Strata took the time; else they are as printed. ``times``: how
    many times as fast it became. ``part``: the share of its time that scales; ``again`` and ``most``: how many times as
    fast it becomes with as many times more, and with endlessly many; None: nothing bounds it.
    """

    name: str
    before: float | None = None
    after: float | None = None
    of: str
    factor: float
    times: float
    part: Estimate
    again: float
    most: float | None
    measured: tuple[Estimate, Estimate] | None = sparse(None)


class ScaleResult(Value):
    """A sweep as it was measured, or as it was read from a table."""

    schema_version: str = Field(default="strata.scale/1", alias="schema")
    run: str | None = None
    """Its id in the store; None of a table."""
    where: str
    ask: ScaleAsk
    layers: tuple[str, ...]
    points: tuple[ScalePoint, ...]
    curves: tuple[ScaleCurve, ...]
    open_points: tuple[OpenPoint, ...] = ()
    what_if: tuple[WhatIf, ...] = ()
    tasks: tuple[ScaledTask, ...] = sparse(())
    """Of a table with figures before and after, or of tasks whose time was taken."""
    seconds: float = 0.0
    ended: str = ""
    remarks: tuple[str, ...] = ()
    environment: dict[str, Any] = {}
    created_unix_ns: int | None = None
    repeat: str = ""

    def of(self, layer: str) -> tuple[ScalePoint, ...]:
        """The points of one layer, by value."""
        return tuple(p for p in self.points if p.layer == layer)

    def curve(self, layer: str) -> ScaleCurve:
        """The curve of one layer. Raises `StopIteration` for a layer that is not there."""
        return next(c for c in self.curves if c.layer == layer)
