"""What a node is told of a run, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from strata.discover.chain import Under
from strata.engine import Extents
from strata.host.mark import Mark
from strata.model.analysis import Remote
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.result import EngineResult, ServerTimes
from strata.model.run import DataSet
from strata.model.series import Series
from strata.model.stack import Stack
from strata.model.survey import Survey
from strata.model.trace import TraceFigures, TraceRecording, TraceTarget
from strata.model.watch import Arrival, Issuer


@dataclass(frozen=True)
class NodeTask:
    """Its part of a run: the layers that it drives. None: it is only sampled. ``engine``: what loads them. ``watches``:
    nobody drives anything (it watches or traces), and a run may go on beside it."""

    run: str
    stack: Stack | None
    path: str
    engine: str
    direct: bool
    writes: bool
    watches: bool = False


@dataclass(frozen=True)
class DataThere:
    """What is at the place of the data before a run begins."""

    survey: Survey
    mark: Mark | None
    kept: bool


@dataclass(frozen=True)
class FileThere:
    """The test file as the node that has it made it. ``extents``: where a raw device is among the layers."""

    data: DataSet
    mark: Mark
    extents: Extents | None


@dataclass(frozen=True)
class LayersThere:
    """The layers of a node, once they are shown to reach the data. ``boot`` tells machines apart; ``cpus``: those that
    the node's process may use; ``stats``: sockets of servers that it started."""

    boot: str
    cpus: tuple[int, ...]
    endpoints: Mapping[str, Endpoint]
    segments: Mapping[str, tuple[Segment, ...]]
    identity: Mapping[str, str]
    dropped: Mapping[str, str]
    remotes: tuple[Remote, ...]
    stats: Mapping[str, str]
    under: Mapping[str, Under]


@dataclass(frozen=True)
class MeasuredThere:
    """A measurement. ``epoch_ns``: what the node adds to its monotonic clock for the time of day."""

    result: EngineResult
    beside: dict[str, Any]
    epoch_ns: int


@dataclass(frozen=True)
class SampledThere:
    """Counters of a node. ``epoch_ns``: what their sampler adds to the node's monotonic clock; ``issuers``: who issued
    I/O there, where that was asked; ``server``: what the target there told of the requests meanwhile, where the layer's
    is one."""

    series: tuple[Series, ...]
    absent: tuple[str, ...]
    epoch_ns: int
    issuers: tuple[Issuer, ...] = ()
    server: ServerTimes | None = None


@dataclass(frozen=True)
class ArrivedThere:
    """What short traces of a node saw, ``from_s`` since they began there, and why there are no more."""

    arrivals: tuple[Arrival, ...]
    absent: str | None


@dataclass(frozen=True)
class ReachedThere:
    """What a node has below its layers. ``boot`` tells machines apart; ``starts``: at which byte of what is below it a
    device begins; ``speeds``: bytes per second of the links of its cards; ``absent``: what is not there."""

    boot: str
    under: Mapping[str, Under]
    starts: Mapping[str, int]
    speeds: Mapping[str, float]
    absent: tuple[str, ...]


@dataclass(frozen=True)
class TraceableThere:
    """The devices below the layers of a node, by layer, and why some have none. ``boot`` tells machines apart;
    ``refused``: why nothing can be traced there."""

    boot: str
    targets: Mapping[str, tuple[TraceTarget, ...]]
    absent: tuple[str, ...]
    refused: str | None


@dataclass(frozen=True)
class TracedThere:
    """A window that has ended, on the clock of the node that recorded it. ``absent``: events that its kernel does not
    have."""

    figures: TraceFigures
    recording: TraceRecording
    absent: tuple[str, ...]
