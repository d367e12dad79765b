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


class DeviceNow(Value):
    """One block device now. ``depth``: requests in its queue and in service; ``request_s``: seconds of one there."""

    name: str
    iops: float
    bytes_per_second: float
    depth: float | None = None
    request_s: float | None = None


class NodeNow(Value):
    """One node at this moment; ``name`` None is this machine. What is not known is None.

    ``servers``: what each process of the path there uses, in CPUs. Bytes per second on all interfaces but the
    loopback, or on the loopback where nothing else moved. ``resent``: TCP segments per second that had to be sent
    again. ``rtt_s``: the smoothed round trip of the path's connections, mean. ``waiting_bytes``: in front of its
    interfaces. ``held_back``: seconds per second that a CPU quota kept threads from running, summed over them.
    """

    name: str | None = None
    servers: tuple[tuple[str, float], ...] = ()
    tx_bytes_per_second: float | None = None
    rx_bytes_per_second: float | None = None
    resent: float | None = None
    rtt_s: float | None = None
    waiting_bytes: float | None = None
    held_back: float | None = None


class ClientNow(Value):
    """One of several clients in the last interval. ``node_p99_ns``: that of all clients of its node together, where it
    is known. ``late``: so many intervals are missing of it; ``lost``: why it is given up."""

    client: int
    node: str
    iops: float = 0.0
    bytes_per_second: float = 0.0
    p99_ns: int | None = None
    node_p99_ns: int | None = None
    late: int = 0
    lost: str | None = None


class Glance(Value):
    """What the counters say of this moment, for who watches; what is not known is None.

    ``busy``: share of this machine's CPUs that is not idle; ``own``: CPUs that this process uses, which
    makes the load. Devices and nodes are in the order in which they are watched.
    """

    busy: float | None = None
    own: float | None = None
    devices: tuple[DeviceNow, ...] = ()
    nodes: tuple[NodeNow, ...] = ()
    clients: tuple[ClientNow, ...] = ()


class StandingCause(Value):
    """A cause that the measurements so far speak for; ``holds``: what an experiment said of it, None without one."""

    layer: str
    cause: str
    title: str
    confidence: float
    holds: bool | None = None


class Progress(Value):
    """One moment of a run. ``step`` counts from 1; rates are of the last interval, None before the first.

    ``finished`` marks the last event of a step; its rates are those of the whole step. ``half_width``: how well the
    mean is known, as a share of it, where the run ends by that. ``standing``: what the experiment that begins is about.
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
    p50_ns: float | None = None
    p99_ns: float | None = None
    now: Glance = Glance()
    half_width: float | None = None
    standing: tuple[StandingCause, ...] = ()
    seconds_left: float | None = None
    finished: bool = False
    error: str | None = None
