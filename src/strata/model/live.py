"""A run while it is measured: what it tells, point by point, and what stands of it at this moment."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from strata.model.base import RunId, UnixNs, Value
from strata.model.estimate import Estimate
from strata.model.hardware import Interface
from strata.model.progress import Progress, StandingCause


class LiveLayer(Value):
    """A layer of the stack that is measured, the medium first; ``node`` where it is not this machine; ``on``: what its
    requests go through next."""

    name: str
    endpoint: str
    node: str | None = None
    on: tuple[str, ...] = ()


class LiveHead(Value):
    """What a live record begins with. ``goal``: the half-width, as a share of the mean, at which the run may end.

    ``here``: the node that this machine is; ``cards`` and ``devices`` are this machine's, the nearest to the medium
    last.
    """

    run: RunId
    stack: str
    layers: tuple[LiveLayer, ...] = ()
    began_unix_ns: UnixNs
    pid: int
    goal: float | None = None
    here: str | None = None
    cards: tuple[Interface, ...] = ()
    devices: tuple[str, ...] = ()


class LivePoint(Value):
    """One moment of a live record; ``number`` counts from 1 and is never given twice."""

    number: int
    at_unix_ns: UnixNs
    progress: Progress


class LiveRate(Value):
    """What one layer did at one moment, ``second`` since the run began. ``cell`` counts the cells of the run: between
    two of them there is no line to draw."""

    second: float
    layer: str
    cell: int
    iops: float
    bytes_per_second: float | None = None
    p50_ns: float | None = None
    p99_ns: float | None = None


class LiveCell(Value):
    """One workload at one layer so far: the location over its finished rounds, with an interval from two on."""

    layer: str
    label: str
    iops: Estimate


class LiveRun(Value):
    """A run at this moment: what `strata serve` shows while it is measured. ``last``: number of the newest point."""

    schema_version: Literal["strata.live/1"] = Field(default="strata.live/1", alias="schema")
    head: LiveHead
    last: int = 0
    now: Progress | None = None
    seconds: float = 0.0
    failed: tuple[str, ...] = ()
    cells: tuple[LiveCell, ...] = ()
    rates: tuple[LiveRate, ...] = ()
    standing: tuple[StandingCause, ...] = ()
    experiment: str | None = None
