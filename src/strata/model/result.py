"""What the engine gives back, as values. The shape is the engine's result JSON, schema 1."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from strata.model.base import Value, sparse
from strata.model.caching import Caching
from strata.model.progress import ClientNow
from strata.model.series import Series
from strata.model.trace import TraceSummary

IMPORTED = "imported"
"""Why a result ended that another tool measured (`EngineResult.stop_reason`): nobody here knows."""


class ErrorCount(Value):
    """I/Os that failed with one errno, and where the first was: offset at the target in bytes, None if not known."""

    errno: int
    name: str
    count: int
    first_offset: int | None


class Direction(Value):
    """All measured I/Os of one direction. Histograms are HdrHistogram V2 payloads in base64, values in ns."""

    ops: int
    bytes: int
    errors: tuple[ErrorCount, ...] = ()
    service_time: str | None = None
    response_time: str | None = None
    submit_latency: str | None = None
    service_sum_ns: int = 0


class StuckIo(Value):
    """An I/O that never came back: where it was, and how long it had been out when it was given up (ns)."""

    thread: int
    op: str
    target: int
    offset: int
    len: int
    age_ns: int


class IntervalDirection(Value):
    """One direction within one interval."""

    ops: int
    bytes: int
    errors: int
    service_time: str | None = None
    service_sum_ns: int = 0


class Interval(Value):
    """``start_ns..end_ns`` from the end of the ramp. The intervals of a result add up exactly to its totals."""

    # Not on first use: the first one arrives while something is being measured.
    model_config = ConfigDict(defer_build=False)

    start_ns: int
    end_ns: int
    read: IntervalDirection
    write: IntervalDirection
    sync: IntervalDirection | None = None
    clients: tuple[ClientNow, ...] = sparse(())
    """Of several clients, while they run; not kept."""


class CpuPerIo(Value):
    """CPU time of one I/O in ns."""

    user_ns: float
    system_ns: float

    @property
    def total_ns(self) -> float:
        """User and system together."""
        return self.user_ns + self.system_ns


def cpu_per_io(user_ns: int | None, system_ns: int | None, ops: int) -> CpuPerIo | None:
    """The one place where CPU time is divided among I/Os; None where there is nothing to divide."""
    if user_ns is None or system_ns is None or not ops:
        return None
    return CpuPerIo(user_ns=user_ns / ops, system_ns=system_ns / ops)


class Instants(Value):
    """When a run began and was measured, in ns of the CLOCK_MONOTONIC of its machine.

    ``start_at_ns``: when it was to start, None where it was not told; ``late_ns``: how long after that it was ready.
    ``first_io_ns`` and ``last_first_io_ns``: the first I/O of the thread that was first, and of the one that was last.
    ``measured_from_ns``: the end of the ramp; ``measured_to_ns``: the end of the last interval.
    """

    start_at_ns: int | None = None
    late_ns: int = 0
    first_io_ns: int | None = None
    last_first_io_ns: int | None = None
    measured_from_ns: int
    measured_to_ns: int


class ThreadTimes(Value):
    """Service times of one thread, both directions, in ns."""

    mean_ns: float
    p50_ns: int
    p99_ns: int
    max_ns: int


class ThreadResult(Value):
    """One thread over the measured span.

    ``run_delay_ns``: runnable and not running. ``pinned``: the CPUs it was told to run on, ``cpus`` those it may
    run on, read back (``0-3,8``); ``memory`` its memory policy, read back. What the kernel does not say is None.
    """

    read_ops: int
    write_ops: int
    read_bytes: int = 0
    write_bytes: int = 0
    service: ThreadTimes | None = None
    user_ns: int
    system_ns: int
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    switches: int | None = None
    """Both kinds, from an engine that does not tell them apart."""
    run_delay_ns: int | None = None
    pinned: str | None = None
    cpus: str = ""
    memory: str | None = None

    @property
    def ops(self) -> int:
        """I/Os, both directions."""
        return self.read_ops + self.write_ops

    @property
    def cpu(self) -> CpuPerIo | None:
        """Of this thread alone: what helpers do for it (a pool, the kernel's workers) is in the process's."""
        return cpu_per_io(self.user_ns, self.system_ns, self.ops)


class EngineResult(Value):
    """One job as it was carried out. Times in ns."""

    schema_version: int = Field(default=1, alias="schema")
    engine: dict[str, Any]
    effective: dict[str, Any]
    started_unix_ns: int
    instants: Instants | None = sparse(None)
    """None from another engine, and in results of older versions."""
    ramp_ns: int
    measured_ns: int
    stop_reason: str
    message: str | None = None
    """What ended the run before its time (the endpoint was lost, an I/O failed), naming the endpoint."""
    issued: int
    completed: int
    errored: int
    stuck: int
    stuck_ios: tuple[StuckIo, ...] = ()
    """The oldest of the stuck ones."""
    read: Direction
    write: Direction
    sync: Direction | None = None
    """Flushes; None when the workload has none. They move no bytes and are no part of `ops`."""
    intervals: tuple[Interval, ...]
    threads: tuple[ThreadResult, ...] = ()
    cpu: dict[str, int | None] = {}
    lag: str | None = None
    caching: Caching | None = None
    """Asked and in force, with the page cache before and after; None in results of older versions."""
    clients: tuple[ClientResult, ...] = sparse(())
    """Of several clients this is the sum of, in the time that all of them measured: each one's own run."""
    lost: tuple[LostClient, ...] = sparse(())
    """Clients of which no result came."""

    @property
    def seconds(self) -> float:
        """The measured span."""
        return self.measured_ns / 1e9

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Reads, writes, and flushes where there are any."""
        return (self.read, self.write) if self.sync is None else (self.read, self.write, self.sync)

    @property
    def ops(self) -> int:
        """I/Os measured, both directions."""
        return self.read.ops + self.write.ops

    @property
    def bytes(self) -> int:
        """Bytes measured, both directions."""
        return self.read.bytes + self.write.bytes

    @property
    def iops(self) -> float:
        """I/Os per second over the measured span."""
        return self.ops / self.seconds if self.measured_ns else 0.0

    @property
    def bytes_per_second(self) -> float:
        """Bytes per second over the measured span."""
        return self.bytes / self.seconds if self.measured_ns else 0.0

    @property
    def mean_service_ns(self) -> float | None:
        """Exact mean service time; None without I/Os, and where another tool printed no times."""
        total = self.read.service_sum_ns + self.write.service_sum_ns
        if not total and self.stop_reason == IMPORTED:
            return None
        return total / self.ops if self.ops else None

    @property
    def debug_build(self) -> bool:
        """Whether the engine was compiled without optimisation: its figures are marked."""
        build: dict[str, Any] = self.engine.get("build", {})
        return bool(build.get("profile") == "debug")


class ClientOf(Value):
    """One of several clients and its node's clock: ``offset_ns`` ahead of the scheduler's, within ``bound_ns``."""

    client: int
    node: str
    offset_ns: int = 0
    bound_ns: int = 0


class ClientResult(ClientOf):
    """Its own whole run."""

    result: EngineResult


class LostClient(ClientOf):
    """``why``; ``intervals`` are those that were heard of it, from ``measured_from_ns`` (of its own clock) on."""

    why: str
    measured_from_ns: int
    intervals: tuple[Interval, ...] = ()


class ServerTimes(Value):
    """What the far end itself took of each request, as payloads of histograms; ``source`` says who counted.

    From the start of the measurement to its end, ramp included: the far end does not know of it.
    """

    source: str
    read: str | None = None
    write: str | None = None


class CellResult(Value):
    """One step of a plan, done: the unit that is committed to the store before the next begins."""

    order: int
    round: int
    cell: str
    kind: str
    layer: str
    workload_key: str
    result: EngineResult | None
    counters: tuple[Series, ...] = ()
    absent: tuple[str, ...] = sparse(())
    """Counters that could not be read, and why."""
    server: ServerTimes | None = sparse(None)
    devices: tuple[str, ...] = sparse(())
    """The block devices that the layer's requests reach, upper before lower; none in runs of earlier versions."""
    carriers: tuple[str, ...] = sparse(())
    """Those of ``devices`` that the data lies on itself: one, or several that share it (btrfs)."""
    error: str | None = None
    experiment: str = sparse("")
    """Of which experiment it is (kind ``confirm``), and ``changed`` which of its two cells."""
    changed: bool = sparse(False)
    traces: tuple[TraceSummary, ...] = sparse(())
    """Of a window of its own (kind ``trace``): one for each device, the upper one first."""
