"""From fio's cumulative documents to intervals and one result. Pure but for the coding of histograms.

Operations are what fio's latency buckets hold: I/Os that completed after the ramp. Its `total_ios` counts issues, its
`io_bytes` lags behind while a job runs; both differ from the buckets by up to the depth, also at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from strata.engine.fio.stream import Failures
from strata.engine.port import Request
from strata.model import histogram
from strata.model.endpoint import EndpointKind
from strata.model.result import Direction, EngineResult, ErrorCount, Interval, IntervalDirection, ThreadResult
from strata.units import NS_PER_MS

DIRECTIONS = ("read", "write")


@dataclass
class Lane:
    """One direction since the end of the ramp: bins by ns, the sum of times in ns, bytes as fio counts them."""

    service: Counter[int] = field(default_factory=Counter)
    submit: Counter[int] = field(default_factory=Counter)
    sum_ns: int = 0
    said_bytes: int = 0
    failed: int = 0

    @property
    def ops(self) -> int:
        """I/Os completed."""
        return self.service.total()


@dataclass
class Snapshot:
    """All jobs together at one moment; ``span_ns`` from the end of the ramp."""

    read: Lane = field(default_factory=Lane)
    write: Lane = field(default_factory=Lane)
    span_ns: int = 0
    at_unix_ns: int = 0

    @property
    def ops(self) -> int:
        """I/Os completed."""
        return self.read.ops + self.write.ops


class ReportReader:
    """Takes one document after the other. ``intervals`` and ``now`` hold what they said so far."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.now = Snapshot()
        self.last: dict[str, Any] | None = None
        self.intervals: list[Interval] = []
        self.started_unix_ns = 0
        # The gfapi engines take seconds to let go of the volume, and fio counts them to the time measured.
        self._longest_ns = (
            round(request.timing.runtime_s * 1e9) if request.endpoint.kind is EndpointKind.GLUSTER else None
        )

    def told_to_end(self, at_unix_ns: int) -> None:
        """Where fio's own time is not to be trusted, nothing was measured after it was told to end."""
        if self._longest_ns is not None and self.started_unix_ns:
            self._longest_ns = max(1, min(self._longest_ns, at_unix_ns - self.started_unix_ns))

    @property
    def counting(self) -> bool:
        """Whether the ramp is over: only then fio's latency buckets fill."""
        return self.now.ops > 0

    def take(self, document: Mapping[str, Any], failures: Failures) -> Interval | None:
        """The interval that ends with ``document``; None in the ramp and where no time has passed since the last.

        ``failures`` are those since the end of the ramp.
        """
        self.last = dict(document)
        new = _snapshot(document, failures)
        if self._longest_ns is not None:
            # A run ends with the last of its I/Os: the longest of them is the most it can be late.
            longest = max((*new.read.service, *new.write.service), default=0)
            new.span_ns = min(new.span_ns, self._longest_ns + longest)
            if new.ops == self.now.ops:
                new.span_ns = self.now.span_ns
        if new.ops < self.now.ops:
            # Counting began anew: what was before is the ramp.
            self.now, self.intervals = Snapshot(), []
        if new.ops == 0:
            return None
        before = self.now
        if new.span_ns <= before.span_ns:
            self._prolong(new)
            return None
        if not before.ops:
            self.started_unix_ns = new.at_unix_ns - new.span_ns
        made = _between(before, new, self.request.workload.bs)
        self.now = new
        self.intervals.append(made)
        return made

    def _prolong(self, new: Snapshot) -> None:
        """No millisecond passed: what was counted belongs to the interval before."""
        last = self.intervals.pop() if self.intervals else None
        new.span_ns = self.now.span_ns
        made = _between(self.now, new, self.request.workload.bs)
        self.now = new
        self.intervals.append(made if last is None else _joined(last, made))


def result(reading: ReportReader, failed_in_ramp: Failures, told: DriverFacts) -> EngineResult:
    request, now = reading.request, reading.now
    jobs = reading.last["jobs"] if reading.last else []
    stuck = told.stuck
    short = {d: _short(getattr(now, d), request) if told.complete else 0 for d in DIRECTIONS}
    message = told.message
    if any(short.values()) and message is None:
        message = (
            f"{request.endpoint.uri}: {sum(short.values())} transfers were short or empty, and fio includes "
            "their latencies in its statistics"
        )
    errors = {d: _errors(d, told.failures, short[d]) for d in DIRECTIONS}
    errored = sum(f.count for f in failed_in_ramp.values()) + sum(f.count for f in told.failures.values())
    return EngineResult(
        engine=told.engine,
        effective=told.effective,
        started_unix_ns=max(0, reading.started_unix_ns - round(request.timing.ramp_s * 1e9)) or told.begun_unix_ns,
        ramp_ns=round(request.timing.ramp_s * 1e9),
        measured_ns=now.span_ns or told.span_ns,
        stop_reason=told.stop_reason,
        message=message,
        issued=now.ops + errored + stuck,
        completed=now.ops,
        errored=errored,
        stuck=stuck,
        read=_direction(now.read, errors["read"], request.workload.bs),
        write=_direction(now.write, errors["write"], request.workload.bs),
        intervals=tuple(reading.intervals),
        threads=tuple(_thread(job, request.workload.bs) for job in jobs) if now.ops else (),
        cpu=_cpu(jobs) if now.ops else {},
    )


@dataclass
class DriverFacts:
    """What the driver knows and the documents do not say. ``complete``: the last document was fio's final one."""

    engine: dict[str, Any]
    effective: dict[str, Any]
    stop_reason: str
    begun_unix_ns: int
    failures: Failures
    complete: bool
    message: str | None = None
    stuck: int = 0
    span_ns: int = 0


def _snapshot(document: Mapping[str, Any], failures: Failures) -> Snapshot:
    made = Snapshot(at_unix_ns=int(document.get("timestamp_ms", 0)) * NS_PER_MS)
    for direction in DIRECTIONS:
        lane: Lane = getattr(made, direction)
        lane.failed = sum(f.count for f in failures.values() if f.direction == direction)
        for job in document["jobs"]:
            said = job[direction]
            times, bins = said["lat_ns"], _bins(said["lat_ns"])
            if not bins:
                # Still in its ramp: bytes and run time are those of the ramp.
                continue
            lane.service += bins
            lane.submit += _bins(said.get("slat_ns", {}))
            lane.sum_ns += round(times["mean"] * bins.total())
            lane.said_bytes += int(said["io_bytes"])
            # Whole milliseconds, rounded down: something was counted, so some time has passed.
            made.span_ns = max(made.span_ns, max(1, int(said["runtime"])) * NS_PER_MS)
    return made


def _bins(times: Mapping[str, Any]) -> Counter[int]:
    return Counter({int(ns): int(count) for ns, count in times.get("bins", {}).items()})


def _between(before: Snapshot, after: Snapshot, bs: int) -> Interval:
    return Interval(
        start_ns=before.span_ns,
        end_ns=after.span_ns,
        read=_lane_between(before.read, after.read, bs),
        write=_lane_between(before.write, after.write, bs),
    )


def _lane_between(before: Lane, after: Lane, bs: int) -> IntervalDirection:
    # A bucket only grows, read while it grows or not. The mean is read apart from its count: it may seem to shrink.
    after.sum_ns = max(after.sum_ns, before.sum_ns)
    bins = after.service - before.service
    return IntervalDirection(
        ops=bins.total(),
        bytes=bins.total() * bs,
        errors=max(0, after.failed - before.failed),
        service_time=histogram.from_bins(bins),
        service_sum_ns=after.sum_ns - before.sum_ns,
    )


def _joined(a: Interval, b: Interval) -> Interval:
    def lane(x: IntervalDirection, y: IntervalDirection) -> IntervalDirection:
        return IntervalDirection(
            ops=x.ops + y.ops,
            bytes=x.bytes + y.bytes,
            errors=x.errors + y.errors,
            service_time=histogram.merge([x.service_time, y.service_time]),
            service_sum_ns=x.service_sum_ns + y.service_sum_ns,
        )

    return Interval(start_ns=a.start_ns, end_ns=b.end_ns, read=lane(a.read, b.read), write=lane(a.write, b.write))


def _direction(lane: Lane, errors: tuple[ErrorCount, ...], bs: int) -> Direction:
    return Direction(
        ops=lane.ops,
        bytes=lane.ops * bs,
        errors=errors,
        service_time=histogram.from_bins(lane.service),
        submit_latency=histogram.from_bins(lane.submit),
        service_sum_ns=lane.sum_ns,
    )


def _errors(direction: str, failures: Failures, short: int) -> tuple[ErrorCount, ...]:
    named = [
        ErrorCount(errno=f.errno, name=f.name, count=f.count, first_offset=f.first_offset)
        for f in failures.values()
        if f.direction == direction
    ]
    if short:
        named.append(ErrorCount(errno=0, name="SHORT", count=short, first_offset=None))
    return tuple(named)


def _short(lane: Lane, request: Request) -> int:
    """Transfers that moved less than a block: fio counts a read of nothing as done and only its bytes are missing."""
    missing = lane.ops - lane.said_bytes // request.workload.bs
    # What was in flight when the ramp ended is in one of the two counts only.
    return missing if missing > request.workload.outstanding + request.workload.threads else 0


def _thread(job: Mapping[str, Any], bs: int) -> ThreadResult:
    """fio tells switches of both kinds as one count, and nothing of where the thread ran."""
    user, system = _job_cpu(job)
    read, write = (_bins(job[d]["lat_ns"]).total() for d in DIRECTIONS)
    return ThreadResult(
        read_ops=read,
        write_ops=write,
        read_bytes=read * bs,
        write_bytes=write * bs,
        user_ns=user,
        system_ns=system,
        switches=int(job["ctx"]),
    )


def _cpu(jobs: list[dict[str, Any]]) -> dict[str, int | None]:
    """Of the threads that issue I/O; fio tells whole milliseconds, as a share of the job's run time."""
    spent = [_job_cpu(job) for job in jobs]
    return {"user_ns": sum(u for u, _ in spent), "system_ns": sum(s for _, s in spent), "run_delay_ns": None}


def _job_cpu(job: Mapping[str, Any]) -> tuple[int, int]:
    span = int(job["job_runtime"]) * NS_PER_MS
    return round(job["usr_cpu"] / 100 * span), round(job["sys_cpu"] / 100 * span)
