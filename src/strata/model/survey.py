"""What is known of the platform before anything is measured."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from strata.model.base import Value


class Severity(StrEnum):
    """How much a finding of the survey matters to a measurement."""

    INFO = "info"
    WARNING = "warning"


class Notice(Value):
    """Something that will spoil or colour a measurement: what, why it matters, and what to do."""

    severity: Severity
    code: str
    what: str
    why: str
    next_step: str = ""


class Device(Value):
    """One block device of the chain, from the one that carries the file system (first) down to the medium (last).

    Sizes in bytes. None means: could not be read.
    """

    name: str
    path: str
    devno: str
    kind: str
    size: int | None = None
    model: str | None = None
    serial: str | None = None
    firmware: str | None = None
    transport: str | None = None
    rotational: bool | None = None
    write_cache: str | None = None
    scheduler: str | None = None
    logical_block: int | None = None
    physical_block: int | None = None
    optimal_io: int | None = None
    max_sectors_bytes: int | None = None
    nr_requests: int | None = None
    queues: int | None = None
    alignment_offset: int | None = None
    partition_start: int | None = None
    read_only: bool | None = None
    holders: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    detail: dict[str, str] = {}


class FileSystem(Value):
    """The mounted file system that holds the path. Sizes in bytes."""

    kind: str
    source: str
    mount_point: str
    options: tuple[str, ...]
    device: str | None
    block_size: int
    size: int
    free: int
    available: int
    remote: bool = False
    detail: dict[str, str] = {}


class Cpu(Value):
    """CPUs as the kernel shows them; ``usable`` after affinity and cgroup quota. ``idle_state`` is the deepest
    sleep they are allowed, ``idle_wake_us`` the microseconds it takes to wake up from it, as the driver states them."""

    model: str
    logical: int
    usable: float
    numa_nodes: int
    mhz: float | None = None
    governor: str | None = None
    turbo: bool | None = None
    hypervisor: str | None = None
    clocksource: str | None = None
    idle_state: str | None = None
    idle_wake_us: int | None = None


class Memory(Value):
    """Bytes. ``limit`` is the tightest cgroup limit, None where there is none."""

    total: int
    available: int
    cached: int
    dirty: int
    swap_total: int
    limit: int | None = None


class Load(Value):
    """How busy the machine was while nothing of Strata ran, over ``seconds``. Shares 0..1, rates per second."""

    seconds: float
    load1: float
    cpu_busy: float
    cpu_steal: float
    disk_iops: dict[str, float] = {}
    net_bytes: dict[str, float] = {}


class Survey(Value):
    """The platform under one path."""

    schema_version: int = Field(default=1, alias="schema")
    path: str
    hostname: str
    kernel: str
    os: str
    taken_unix_ns: int
    file_system: FileSystem
    devices: tuple[Device, ...]
    cpu: Cpu
    memory: Memory
    load: Load
    privileged: bool
    limits: dict[str, str] = {}
    notices: tuple[Notice, ...] = ()
    unreadable: tuple[str, ...] = ()
