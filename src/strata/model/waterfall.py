"""Where the time of single requests went: each divided among the layers it passed, on one clock.

Every moment of a request belongs to one layer, the lowest that it waited for, so the parts of a request add up to it.
"""

from __future__ import annotations

from enum import StrEnum

from strata.model.base import Value
from strata.model.times import Times


class SubmittedBy(StrEnum):
    """The interface by which a request was submitted."""

    CALL = "call"
    IO_URING = "io_uring"
    AIO = "aio"
    EXCHANGE = "exchange"


class Deed(StrEnum):
    """What it asks for."""

    READ = "read"
    WRITE = "write"
    SYNC = "sync"
    OTHER = "other"


class PathKind(StrEnum):
    """What a layer of the path is. ``FAR``: the wire and a server on another machine together."""

    CLIENT = "client"
    WIRE = "wire"
    FAR = "far"
    SERVER = "server"
    CALL = "call"
    DEVICE = "device"


class PartKind(StrEnum):
    """``QUEUE``: waits to be taken up; ``OWN``: at work above another layer; ``SERVICE``: the lowest layer at work."""

    QUEUE = "queue"
    OWN = "own"
    SERVICE = "service"


class PathLayer(Value):
    """A layer. ``name``: of a device; ``of``: the program it belongs to, behind a wire; ``depth``: layers above it."""

    kind: PathKind
    name: str
    of: str
    depth: int


class PartTimes(Value):
    """``mean_ns`` is over all requests of the group, so means add up; ``times`` of those that spent time there.

    ``unknown_ns``: by how much the mean may be off because two clocks run at different rates; 0 on one clock.
    """

    part: PartKind
    mean_ns: float
    unknown_ns: float = 0.0
    times: Times


class LayerTimes(Value):
    """A layer (its place in `Waterfall.layers`) and its parts."""

    layer: int
    parts: tuple[PartTimes, ...]


class RequestGroup(Value):
    """Requests made in one way that ask for the same; ``layers`` upper before lower.

    ``undivided``: what their server did below itself may belong to others as well, so it is told as one.
    """

    way: SubmittedBy
    deed: Deed
    undivided: bool = False
    total: Times
    layers: tuple[LayerTimes, ...]


class SampledRequest(Value):
    """One request. ``at_ns`` from the beginning of the window; ``segments``: (layer, part, from when, how long), ns.

    ``slow``: one of the slowest; the others are spread evenly over the window.
    """

    group: int
    at_ns: int
    ns: int
    tid: int
    comm: str
    slow: bool
    segments: tuple[tuple[int, PartKind, int, int], ...]


class NotFollowed(Value):
    """What was seen and is in no group, by the reason."""

    ambiguous: int
    undivided: int
    overlapping: int
    unmatched: int
    inconsistent: int
    handed_over: int
    under_way: int
    above_devices: int
    by_kernel: int
    forgotten: int

    @property
    def requests(self) -> int:
        """Requests that reached a device or a server and could not be followed; undivided ones are, to the server."""
        return self.ambiguous + self.overlapping + self.unmatched + self.inconsistent + self.handed_over


class ServerClock(Value):
    """How the clock of a server's machine stands to the client's, as the messages of both directions bound it.

    Ahead by ``offset_ns`` in the middle of their talk, give or take ``bound_ns`` (the most within it); it gains
    ``rate_ppm``. ``messages``: to the server and from it. ``there_ns`` and ``back_ns`` are the mean times on the wire
    of the ``exchanges`` between both; each is known to ``bound_ns``, and what one has more, the other has less.
    """

    offset_ns: int
    bound_ns: int
    rate_ppm: float
    rate_bound_ppm: float
    messages: tuple[int, int]
    exchanges: int
    there_ns: float
    back_ns: float


class Waterfall(Value):
    """The requests of a window. ``marks``: events beside those of the block layer; ``clock``: of a second machine."""

    layers: tuple[PathLayer, ...]
    groups: tuple[RequestGroup, ...]
    samples: tuple[SampledRequest, ...]
    missing: NotFollowed
    marks: int
    clock: ServerClock | None = None

    def typical(self, group: int) -> SampledRequest | None:
        """The kept request of a group that took nearest to its median; None where none was kept."""
        median = self.groups[group].total.p50_ns
        own = [s for s in self.samples if s.group == group]
        return min(own, key=lambda s: abs(s.ns - median), default=None)
