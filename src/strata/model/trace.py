"""A block trace in figures: what reached a device, in which order, who sent it and how long it took."""

from __future__ import annotations

from pydantic import Field

from strata.model.base import CommandLine, Value, sparse
from strata.model.nodes import NodeName
from strata.model.times import Times
from strata.model.waterfall import Waterfall

EVENT_NS = 170.0
"""What the kernel spends on one recorded event, in ns of the CPU it happens on (docs/journal, 2026-11-21)."""
COST_LIMIT = 0.03
"""A trace that takes more of a CPU, or adds more to an I/O, than this says so."""


class SeekBucket(Value):
    """Distances from ``from_bytes`` to less than ``to_bytes``; negative is backward, both 0 is none."""

    from_bytes: int
    to_bytes: int
    count: int


class Order(Value):
    """The order of ``ios`` I/Os. The definitions are in docs/guide/tracing.md; None: there were too few.

    ``extents``: (by how many I/Os of its stream it was late, how many were).
    """

    ios: int
    strict_share: float | None
    windowed_share: float | None
    backward_share: float | None
    reordered_share: float | None
    reordered: int
    extents: tuple[tuple[int, int], ...]
    streams: int
    seeks: tuple[SeekBucket, ...]

    @property
    def mean_extent(self) -> float | None:
        """By how many I/Os a late one is late, on average."""
        return sum(e * n for e, n in self.extents) / self.reordered if self.reordered else None

    @property
    def max_extent(self) -> int:
        """By how many at most; 0 where none was late."""
        return max((e for e, _ in self.extents), default=0)


class Passing(Value):
    """I/Os in the order they came. ``lengths``: (bytes, how many); ``range``: first byte and end of all."""

    ios: int
    bytes: int
    lengths: tuple[tuple[int, int], ...]
    other_lengths: int
    range: tuple[int, int] | None
    order: Order


class Half(Value):
    """One direction: ``entered`` before splits and merges, ``issued`` at the device.

    ``service``: issue to completion; ``wait``: entrance to issue; ``scheduler``: the part of it in a scheduler.
    """

    entered: Passing
    issued: Passing
    service: Times | None
    wait: Times | None
    scheduler: Times | None
    sync: int
    write_through: int
    read_ahead: int


class TracedThread(Value):
    """A thread and how many I/Os it brought or issued."""

    tid: int
    comm: str
    ios: int


class Threads(Value):
    """Who was at work; ``per_window``: different ones among 16 that follow each other, on average."""

    threads: int
    busiest: tuple[TracedThread, ...]
    per_window: float | None
    per_window_max: int


class SlowIo(Value):
    """One of the slowest requests; ``at_ns`` from the beginning of the window."""

    at_ns: int
    op: str
    offset_bytes: int
    bytes: int
    wait_ns: int | None
    service_ns: int
    depth: int
    parts: int
    tid: int
    comm: str


class TraceTarget(Value):
    """A device that was followed; ``dev`` is the kernel's number (major << 20 | minor).

    ``entrance``: the number its I/Os enter with, where that is another (a partition's); ``sectors``: only these.
    ``by_bio``: it has no requests, so its I/Os are issued as they enter. ``above``: the followed device that stands on
    it. ``node``: whose device it is; None: this machine's.
    """

    name: str
    dev: int
    entrance: int | None = None
    sectors: tuple[int, int] | None = None
    by_bio: bool = False
    role: str = "device"
    above: str | None = None
    node: NodeName | None = sparse(None)


class DeviceTrace(Value):
    """Everything about one device. ``depth``: (requests with it at an issue, the new one included; how many issues)."""

    target: TraceTarget
    read: Half
    write: Half
    all: Order
    flush: Times | None
    discards: int
    others: int
    splits: int
    merges: int
    request_merges: int
    inserts: int
    requeues: int
    errors: int
    depth: tuple[tuple[int, int], ...]
    entering: Threads
    issuing: Threads
    slowest: tuple[SlowIo, ...]
    began_before: int
    under_way: int
    parts: int
    forgotten: int

    @property
    def requests(self) -> int:
        """Reads and writes that were issued."""
        return self.read.issued.ios + self.write.issued.ios

    @property
    def entered(self) -> int:
        """Reads and writes that entered."""
        return self.read.entered.ios + self.write.entered.ios

    @property
    def bytes(self) -> int:
        """Bytes of both directions."""
        return self.read.issued.bytes + self.write.issued.bytes

    @property
    def mean_depth(self) -> float | None:
        """Requests with the device at an issue, the new one included, on average."""
        issues = sum(n for _, n in self.depth)
        return sum(d * n for d, n in self.depth) / issues if issues else None

    @property
    def max_depth(self) -> int:
        """And at most."""
        return max((d for d, _ in self.depth), default=0)


class TraceFigures(Value):
    """The window in ns, the events in it, and each device, the one that was asked about first."""

    window_ns: int
    events: int
    devices: tuple[DeviceTrace, ...]

    @property
    def _upper(self) -> DeviceTrace | None:
        return next((d for d in self.devices if d.requests), None)

    @property
    def added_ns(self) -> float | None:
        """What writing the events added to an I/O of the uppermost device that saw any; None without I/Os."""
        return EVENT_NS * self.events / self._upper.requests if self._upper is not None else None

    @property
    def added_share(self) -> float | None:
        """The same as a share of the median time from its entrance to its end there, as it was seen."""
        if self._upper is None or self.added_ns is None:
            return None
        half = max((self._upper.read, self._upper.write), key=lambda h: h.issued.ios)
        took = sum(t.p50_ns for t in (half.service, half.wait) if t is not None)
        return self.added_ns / took if took else None


class Losses(Value):
    """What is missing: as the kernel counts it, as the pages told it, and what was left for being too much."""

    overrun: int
    commit_overrun: int
    dropped: int
    missed: int
    gaps: int
    broken_pages: int
    cut: int

    @property
    def events(self) -> int:
        """Lost events that somebody counted (the kernel and the pages count the same ones)."""
        return max(self.overrun, self.missed) + self.commit_overrun + self.dropped


class Recorder(Value):
    """What recording took: CPU time of the reading thread over the window, pages and records it read."""

    cpu_ns: int
    wall_ns: int
    pages: int
    records: int
    foreign: int


class WireHeaders(Value):
    """Of the headers of remote protocols: segments that came faster than they were read; why none were read at all."""

    dropped: int
    absent: str | None


class TraceRecording(Value):
    """How the window was recorded. ``ended_by``: time, stopped or events. ``whole``: nothing was lost."""

    ended_by: str
    began_ns: int
    whole: bool
    losses: Losses
    recorder: Recorder
    wire: WireHeaders | None = None

    @property
    def reader_share(self) -> float:
        """Of one CPU, for reading."""
        return self.recorder.cpu_ns / self.recorder.wall_ns if self.recorder.wall_ns else 0.0

    @property
    def event_share(self) -> float:
        """Of one CPU, for writing the events: their number times what one was measured to cost."""
        return self.recorder.records * EVENT_NS / self.recorder.wall_ns if self.recorder.wall_ns else 0.0


class NodeWindow(Value):
    """The window of one machine. ``node``: who recorded it; None: this process.

    ``recording.began_ns`` is on this machine's clock, of which the node's was ahead by ``offset_ns`` from before the
    window until it had ended, give or take ``bound_ns``.
    """

    node: NodeName | None
    window_ns: int
    events: int
    offset_ns: int = 0
    bound_ns: int = Field(default=0, ge=0)
    recording: TraceRecording
    absent_events: tuple[str, ...] = ()


class TraceResult(Value):
    """A trace as it is printed. ``form``: live, strata or blkparse; ``recording`` is None where it is not known.

    With ``nodes`` each of them has a recording of its own, and the window is from the first one's beginning to the last
    one's end.
    """

    schema_version: str = Field(default="strata.trace/1", alias="schema")
    where: str
    form: str
    figures: TraceFigures
    recording: TraceRecording | None = None
    command: CommandLine = ()
    command_status: int | None = None
    absent_events: tuple[str, ...] = ()
    """Events this kernel does not have."""
    notes: tuple[str, ...] = ()
    saved: str | None = None
    waterfall: Waterfall | None = None
    nodes: tuple[NodeWindow, ...] = sparse(())

    @property
    def whole(self) -> bool:
        """Whether nothing was lost, as far as it is known."""
        told = (self.recording, *(n.recording for n in self.nodes))
        return all(one is None or one.whole for one in told)

    def window_of(self, target: TraceTarget) -> tuple[int, bool]:
        """For how long (ns) the device was followed, and whether nothing was lost meanwhile."""
        for one in self.nodes:
            if one.node == target.node:
                return one.window_ns, one.recording.whole
        return self.figures.window_ns, self.whole


class OrderSummary(Value):
    """One direction at one device, short: what a run keeps."""

    requests: int
    entered: int
    bytes: int
    strict_share: float | None
    windowed_share: float | None
    backward_share: float | None
    reordered_share: float | None
    mean_extent: float | None
    max_extent: int
    service_mean_ns: float | None
    service_p99_ns: int | None


class TraceSummary(Value):
    """A trace of one device, short: what the cell of a run carries. ``dispatchers``: different issuing threads among 16
    requests that follow each other, on average."""

    device: str
    role: str
    seconds: float
    whole: bool
    read: OrderSummary
    write: OrderSummary
    splits: int
    merges: int
    mean_depth: float | None
    dispatchers: float | None
    threads: int
    requests_per_io: float | None = None
    """Requests at the device for each I/O of the application; None where those were not counted."""
    node: NodeName | None = sparse(None)
    """Whose device it is, where the nodes of a stack traced; None: this machine's."""

    @property
    def called(self) -> str:
        """The device, and the node that has it."""
        return self.device if self.node is None else f"{self.device} of {self.node}"


def summary_of(device: DeviceTrace, seconds: float, whole: bool, app_ios: int | None = None) -> TraceSummary:
    """The short form. ``app_ios``: I/Os the application completed in the same window."""
    return TraceSummary(
        device=device.target.name,
        role=device.target.role,
        seconds=seconds,
        whole=whole,
        read=_short(device.read),
        write=_short(device.write),
        splits=device.splits,
        merges=device.merges + device.request_merges,
        mean_depth=device.mean_depth,
        dispatchers=device.issuing.per_window,
        threads=device.issuing.threads,
        requests_per_io=device.requests / app_ios if app_ios else None,
        node=device.target.node,
    )


def _short(half: Half) -> OrderSummary:
    order, service = half.issued.order, half.service
    return OrderSummary(
        requests=half.issued.ios,
        entered=half.entered.ios,
        bytes=half.issued.bytes,
        **{name: share for name, share in order if name.endswith("_share")},
        mean_extent=order.mean_extent,
        max_extent=order.max_extent,
        service_mean_ns=service.mean_ns if service else None,
        service_p99_ns=service.p99_ns if service else None,
    )
