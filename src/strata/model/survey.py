"""What is known of the platform before anything is measured."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from strata.model.base import Value, sparse
from strata.model.fact import BYTES, DERIVED, NAME, STATE, Fact, FieldRole, Unit
from strata.model.hardware import FileLayout, Geometry, Health, Interface, KernelLog, Multipath, Placing, Tier

_BYTES_NOW = Fact(unit=Unit.BYTES, role=FieldRole.STATE)


class Severity(StrEnum):
    """How much a finding of the survey matters to a measurement."""

    INFO = "info"
    WARNING = "warning"


class Notice(Value):
    """Something that will distort a measurement: what, why it matters, and what to do."""

    severity: Severity
    code: str
    what: str
    why: str
    next_step: str = ""


class Device(Value):
    """One block device of the chain, from the one that carries the file system (first) down to the medium (last).

    Sizes in bytes. None means: could not be read.
    """

    name: Annotated[str, NAME]
    path: Annotated[str, NAME]
    devno: Annotated[str, NAME]
    kind: str
    size: Annotated[int | None, BYTES] = None
    model: str | None = None
    serial: Annotated[str | None, NAME] = None
    firmware: str | None = None
    transport: str | None = None
    rotational: bool | None = None
    write_cache: str | None = None
    scheduler: str | None = None
    logical_block: int | None = None
    physical_block: int | None = None
    minimum_io: Annotated[int | None, BYTES] = sparse(None)
    optimal_io: Annotated[int | None, BYTES] = None
    max_sectors_bytes: Annotated[int | None, Fact("largest request", Unit.BYTES)] = None
    nr_requests: Annotated[int | None, Fact("requests queued")] = None
    queues: int | None = None
    alignment_offset: int | None = None
    partition_start: Annotated[int | None, BYTES] = None
    read_only: bool | None = None
    holders: Annotated[tuple[str, ...], NAME] = ()
    members: Annotated[tuple[str, ...], NAME] = ()
    detail: Annotated[dict[str, str], Fact(inline=True, states=("backing_file", "dm_name", "md_sync", "raw_read"))] = {}
    geometry: Geometry | None = sparse(None)
    multipath: Annotated[Multipath | None, Fact("paths")] = sparse(None)
    health: Health | None = sparse(None)


class FileSystem(Value):
    """The mounted file system that holds the path. Sizes in bytes."""

    kind: str
    source: Annotated[str, NAME]
    mount_point: str
    options: Annotated[tuple[str, ...], Fact("mount options")]
    device: Annotated[str | None, NAME]
    block_size: Annotated[int, BYTES]
    size: Annotated[int, BYTES]
    free: Annotated[int, _BYTES_NOW]
    available: Annotated[int, _BYTES_NOW]
    remote: bool = False
    detail: Annotated[dict[str, str], Fact(inline=True, states=("lifetime_write_bytes",))] = {}
    geometry: Geometry | None = sparse(None)
    placing: Annotated[Placing | None, Fact(inline=True)] = sparse(None)


class Cpu(Value):
    """CPUs as the kernel shows them; ``usable`` after affinity and cgroup quota. ``idle_state`` is the deepest
    sleep they are allowed, ``idle_wake_us`` the microseconds it takes to wake up from it, as the driver states them.

    ``governors``: the CPUs of each frequency governor, as a list (``0-3,8``); ``governor``: the one of all, or every
    name. ``smt``: whether a core runs several threads now, ``smt_control`` what the kernel's switch says.
    """

    model: str
    logical: int
    usable: float
    numa_nodes: Annotated[int, Fact("NUMA nodes")]
    mhz: Annotated[float | None, STATE] = None
    governor: Annotated[str | None, Fact("power plan (governor)")] = None
    turbo: bool | None = None
    hypervisor: str | None = None
    clocksource: Annotated[str | None, Fact("clock source")] = None
    idle_state: Annotated[str | None, Fact("deepest sleep")] = None
    idle_wake_us: Annotated[int | None, Fact("wake-up latency (µs)")] = None
    sockets: int | None = sparse(None)
    cores_per_socket: int | None = sparse(None)
    threads_per_core: int | None = sparse(None)
    smt: Annotated[bool | None, Fact("SMT")] = sparse(None)
    smt_control: Annotated[str | None, Fact("SMT control")] = sparse(None)
    frequency_driver: str | None = sparse(None)
    governors: Annotated[dict[str, str], Fact("CPUs under governor")] = sparse({})


class Memory(Value):
    """Bytes. ``limit`` is the tightest cgroup limit, None where there is none."""

    total: Annotated[int, BYTES]
    available: Annotated[int, _BYTES_NOW]
    cached: Annotated[int, _BYTES_NOW]
    dirty: Annotated[int, _BYTES_NOW]
    swap_total: Annotated[int, BYTES]
    limit: Annotated[int | None, BYTES] = None


class Load(Value):
    """How busy the machine was while nothing of Strata ran, over ``seconds``. Shares 0..1, rates per second."""

    seconds: float
    load1: float
    cpu_busy: float
    cpu_steal: float
    disk_iops: dict[str, float] = {}
    net_bytes: dict[str, float] = {}


class Survey(Value):
    """The platform under one path. ``tiers``: every cache and tier known, the nearest to the program first."""

    schema_version: Annotated[int, NAME] = Field(default=1, alias="schema")
    path: Annotated[str, NAME]
    hostname: Annotated[str, NAME]
    kernel: str
    os: Annotated[str, Fact("operating system")]
    taken_unix_ns: Annotated[int, NAME]
    file_system: FileSystem
    devices: tuple[Device, ...]
    cpu: Annotated[Cpu, Fact("CPU")]
    memory: Memory
    load: Annotated[Load, STATE]
    privileged: Annotated[bool, Fact("surveyed as root")]
    limits: Annotated[dict[str, str], Fact("limit")] = {}
    tiers: tuple[Tier, ...] = sparse(())
    interfaces: tuple[Interface, ...] = sparse(())
    kernel_log: Annotated[KernelLog | None, STATE] = sparse(None)
    file: FileLayout | None = sparse(None)
    notices: Annotated[tuple[Notice, ...], DERIVED] = ()
    unreadable: Annotated[tuple[str, ...], NAME] = ()

    @property
    def array(self) -> Geometry | None:
        """The array that the file system meets first: its own, or the uppermost of its devices."""
        found = (d.geometry for d in self.devices if d.geometry is not None)
        return self.file_system.geometry or next(found, None)
