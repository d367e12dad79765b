"""The fio command line, or the sections of a job file, that ask the same of an endpoint.

Plain bytes only: fio reads "Mi" as 10^6 unless told otherwise. fio's rates are for each job, Strata's for all threads
together. What fio cannot be told (the exact block list of a raw layer with many extents) is left out and said in the
comment that goes with it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from strata.model.access import Interlocked, Once, Strided, Zipf, Zones
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.fio_words import entering, escaped, grid, plain_uri, rates_of
from strata.model.plan import Segment, clipped
from strata.model.workload import Cache, ClosedLoop, OpenLoop, Sync, Workload
from strata.model.workload_options import BLOCKS, DURABILITY, PACE, PATTERN, Kind

_ALWAYS = frozenset({"numjobs"})
"""Said whatever the value is."""


def fio_command(
    endpoint: Endpoint, workload: Workload, segments: Sequence[Segment], ramp_s: float, runtime_s: float
) -> str | None:
    """One command line; None where fio cannot be told (no engine for `null:`, no word for the pattern) or would write
    to a device."""
    if endpoint.kind is EndpointKind.BLOCK and workload.rw.writes:
        return None
    words = fio_options(endpoint, workload, segments, ramp_s, runtime_s)
    return None if words is None else shlex.join([*entering(endpoint), "fio", f"--name={workload.key}", *words])


def fio_options(
    endpoint: Endpoint, workload: Workload, segments: Sequence[Segment], ramp_s: float, runtime_s: float
) -> list[str] | None:
    """The options behind ``fio --name=…``; None where fio cannot be told."""
    ioengine = "io_uring" if endpoint.scheme is None else endpoint.scheme.fio
    if ioengine is None or endpoint.kind is EndpointKind.NULL:
        return None
    pattern = _pattern(workload, segments)
    if pattern is None:
        return None
    words = [
        *pattern,
        f"--iodepth={workload.arrival.iodepth}",
        f"--numjobs={workload.threads}",
        *_plain(workload, PATTERN),
        "--thread",
        "--group_reporting",
        *_place(workload, segments),
        "--time_based",
        # fio reads a bare number as seconds and takes no fraction; milliseconds are exact.
        f"--ramp_time={0 if workload.cache is Cache.COLD else round(ramp_s * 1000)}ms",
        f"--runtime={round(runtime_s * 1000)}ms",
    ]
    words.append(f"--ioengine={ioengine}")
    if endpoint.remote:
        words.append(f"--uri={plain_uri(endpoint.uri)}")
    else:
        words += [f"--filename={escaped(endpoint.path or '')}", f"--direct={int(workload.direct)}"]
        # fio has no RWF_DSYNC; O_DSYNC is the same promise for every write.
        if workload.sync is not Sync.NONE:
            words.append("--sync=dsync")
        if not workload.direct:
            # fio drops a file's pages before a job unless it is told not to.
            words.append(f"--invalidate={int(workload.cache is Cache.COLD)}")
        if workload.cache is Cache.WARM:
            words.append("--pre_read=1")
        if endpoint.kind is EndpointKind.BLOCK and not workload.rw.writes:
            words.append("--readonly")
    if workload.rwmixread is not None:
        words.append(f"--rwmixread={workload.rwmixread}")
    if workload.rw.carries:
        words.append("--refill_buffers")
    arrival = _arrival(workload)
    return None if arrival is None else words + _data(workload) + arrival


def job_options(
    endpoint: Endpoint, workload: Workload, segments: Sequence[Segment], ramp_s: float, runtime_s: float
) -> dict[str, str] | None:
    """The same by their names, as a job file has them and fio's results repeat them; None where fio cannot be told.

    Without words of the command line alone. fio's buffers are random without being filled anew for each write.
    """
    words = fio_options(endpoint, workload, segments, ramp_s, runtime_s)
    if words is None:
        return None
    aside = {"readonly"} | ({"refill_buffers"} if workload.data is None else set())
    parts = (word.removeprefix("--").partition("=") for word in words)
    # A switch without a value is not told from one that is off where fio repeats it.
    return {key: value or "1" for key, _, value in parts if key not in aside}


def _pattern(workload: Workload, segments: Sequence[Segment]) -> list[str] | None:
    """Direction, order and sizes; None where fio has no words for them."""
    order, rw = workload.order, workload.rw.value
    beyond = any(row.fio is None for row, _ in workload.asked())
    beyond = beyond or bool(workload.shares) or (isinstance(order, Zipf) and order.theta == 1)
    beyond = beyond or (isinstance(order, Interlocked) and workload.threads > 1)
    beyond = beyond or (isinstance(workload.arrival, OpenLoop) and workload.arrival.burst > 1)
    if beyond or not workload.rw.fio:
        return None
    if isinstance(order, Strided) and order.stride is not None:
        gap = order.stride - workload.bs
        if gap < 0 or workload.bssplit is not None:
            return None
        rw += f":{gap}" if gap else ""
    words = [f"--rw={rw}"]
    if workload.bssplit is None:
        words.append(f"--bs={workload.bs}")
    else:
        words.append(f"--bssplit={_split(workload)}")
    if workload.rw.random and not isinstance(order, Once):
        words.append("--norandommap")
    if isinstance(order, Zipf):
        words.append(f"--random_distribution=zipf:{order.theta:.12g}")
    if isinstance(order, Zones):
        zones = _zones(order, sum(s.length for s in clipped(segments, workload.range)))
        if zones is None:
            return None
        words.append(f"--random_distribution={zones}")
    return words + _plain(workload, BLOCKS)


def _plain(workload: Workload, *groups: str) -> list[str]:
    """The options of these groups that have a word of fio to themselves. What makes no other workload is left out."""
    rows = [(row, value) for row, value in workload.asked(*groups) if row.key and row.fio and row.fio not in _ALWAYS]
    return [f"--{row.fio}" + ("" if row.kind is Kind.FLAG else f"={value}") for row, value in rows]


def _zones(order: Zones, room: int) -> str | None:
    """fio takes whole percent, and zones whose shares of the I/Os add up to 100."""
    absolute = any(z.range_bytes is not None for z in order.zones)
    if absolute and any(z.range_bytes is None for z in order.zones):
        return None
    pairs = [(z.access_percent, z.range_percent if z.range_bytes is None else z.range_bytes) for z in order.zones]
    rest = 100 - sum(access for access, _ in pairs)
    if rest > 0:
        left = (room if absolute else 100) - sum(span or 0 for _, span in pairs)
        pairs.append((rest, left))
    if any(access % 1 or (span or 0) % 1 or (span or 0) <= 0 for access, span in pairs):
        return None
    return f"zoned{'_abs' * absolute}:" + ":".join(f"{access:.0f}/{span:.0f}" for access, span in pairs)


def _split(workload: Workload) -> str:
    assert workload.bssplit is not None
    sides = []
    for side in (workload.bssplit.read, workload.bssplit.write):
        total = sum(s.weight for s in side)
        percents = [round(100 * s.weight / total) for s in side]
        if side:
            # fio takes whole percent that add up to 100.
            percents[-1] = 100 - sum(percents[:-1])
        sides.append(":".join(f"{s.bs}/{p}" for s, p in zip(side, percents, strict=True)))
    read, write = sides
    return read or write if not (read and write) or read == write else f"{read},{write}"


def _place(workload: Workload, segments: Sequence[Segment]) -> list[str]:
    used = clipped(segments, workload.range)
    # fio drives one contiguous range: several extents are taken as one from the first on.
    first = min(used, key=lambda s: s.target, default=Segment(start=0, length=0, target=0))
    step = workload.align or workload.bs
    start, blocks = grid(first.model_copy(update={"length": sum(s.length for s in used)}), step)
    start, size = start + workload.misalign, blocks * step - (workload.misalign and step)
    words = []
    if isinstance(workload.order, Strided) and workload.order.thread_offset is not None:
        words.append(f"--offset_increment={workload.order.thread_offset}")
    elif workload.threads > 1 and not workload.rw.random:
        # Each thread has a part of its own; fio's jobs would all begin at the first byte.
        size = size // workload.threads // workload.bs * workload.bs
        words.append(f"--offset_increment={size}")
    return [f"--offset={start}", f"--size={size}", *words]


def _data(workload: Workload) -> list[str]:
    words = _plain(workload, PACE, DURABILITY)
    if workload.data is not None:
        shares = (
            ("buffer_compress_percentage", workload.data.compress_percent),
            ("dedupe_percentage", workload.data.dedupe_percent),
        )
        words += [f"--{name}={percent}" for name, percent in shares if percent]
    return words


def _arrival(workload: Workload) -> list[str] | None:
    """None for a rate that is not whole for each thread and direction."""
    arrival, threads = workload.arrival, workload.threads
    if isinstance(arrival, OpenLoop):
        poisson = ["--rate_process=poisson"] if arrival.process == "poisson" else []
        rates = rates_of(workload)
        return None if rates is None else [f"--rate_iops={rates[0]},{rates[1]}", *poisson]
    assert isinstance(arrival, ClosedLoop)
    if (limits := arrival.limits) is None:
        return []
    words = [] if limits.iops is None else [f"--rate_iops={_each(limits.iops, threads)}"]
    words += [] if limits.bytes_per_s is None else [f"--rate={_each(limits.bytes_per_s, threads)}"]
    if limits.think_ns:
        words += [f"--thinktime={round(limits.think_ns / 1000)}", f"--thinktime_blocks={limits.think_every}"]
    return words


def _each(total: float, threads: int) -> int:
    """fio takes whole numbers, of each job."""
    return max(1, round(total / threads))
