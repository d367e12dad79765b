"""What a trace says about the load that made it, in the words of a workload."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pydantic import Field

from strata import units
from strata.model.base import Value
from strata.model.trace import DeviceTrace, Half, Passing, TraceFigures
from strata.model.workload import Workload
from strata.model.workload_options import OPTIONS
from strata.plan.words import workload_from_words

SEQUENTIAL = 0.8
"""From this windowed share on a direction is called sequential."""
RARE = 0.01
"""Lengths of a smaller share are left out of the mix."""
HELD = 0.5
"""Where the lengths of the mix hold a smaller share together, they stand for nothing."""
FLUSHES_MATTER = 1000
"""With more writes than this to a flush, flushes are somebody else's."""
BUSY = 0.5
"""With less of the stated depth under way on average, the load had pauses that a closed loop does not have."""


class SizeShare(Value):
    """One length of a direction's mix."""

    bs: int
    share: float = Field(gt=0, le=1)


class TracedWorkload(Value):
    """The load of one device as it entered, before splits and merges: the application's or file system's own I/Os.

    ``rw`` in fio's words; ``iodepth`` is the mean number under way, rounded, at least 1; ``iops`` what was seen,
    which is a rate that was asked only where the load was not limited by the device. ``range_bytes``: from the first
    to the last byte touched. ``sequential`` by direction: the windowed share. ``under_way``: requests with the device
    at any time, on average (Little's law: their number times their mean service time, over the window).
    """

    device: str
    rw: str
    rwmixread: int
    bssplit_read: tuple[SizeShare, ...]
    bssplit_write: tuple[SizeShare, ...]
    iodepth: int
    numjobs: int
    iops: float
    range_bytes: tuple[int, int] | None
    sequential_read: float | None
    sequential_write: float | None
    write_through_share: float | None
    writes_per_flush: float | None = None
    under_way: float | None = None
    cautions: tuple[str, ...] = ()


def workload_of(figures: TraceFigures, whole: bool = True) -> TracedWorkload | None:
    """The load of the uppermost device that saw any; None where none did. Pure."""
    device = next((d for d in figures.devices if _carrying(_seen(d.read)) + _carrying(_seen(d.write))), None)
    if device is None or not figures.window_ns:
        return None
    read, write = _seen(device.read), _seen(device.write)
    reads, writes = _carrying(read), _carrying(write)
    stray = _stray(reads, writes)
    if stray:
        # As a workload, a share of nothing would still write: and one that writes is measured at fewer layers.
        reads, writes = (reads, 0) if reads > writes else (0, writes)
    mixes = [_mix(read), _mix(write)]
    halves = [h for h, n in ((read, reads), (write, writes)) if n or not stray]
    ways = [h.order.windowed_share for h in halves if h.ios and h.order.windowed_share is not None]
    sequential = bool(ways) and all(share >= SEQUENTIAL for share in ways)
    first = [r[0] for h in halves if (r := h.range) is not None]
    end = [r[1] for h in halves if (r := h.range) is not None]
    return TracedWorkload(
        device=device.target.name,
        rw=_rw(reads, writes, sequential),
        rwmixread=round(100 * reads / (reads + writes)),
        bssplit_read=mixes[0],
        bssplit_write=mixes[1],
        iodepth=max(1, round(device.mean_depth or 1)),
        numjobs=max(1, round(device.entering.per_window or 1)),
        iops=(reads + writes) / (figures.window_ns / 1e9),
        range_bytes=(min(first), max(end)) if first else None,
        sequential_read=read.order.windowed_share,
        sequential_write=write.order.windowed_share,
        write_through_share=device.write.write_through / device.write.issued.ios
        if writes and device.write.issued.ios
        else None,
        writes_per_flush=writes / device.flush.count
        if writes and device.flush is not None and device.flush.count
        else None,
        under_way=_under_way(device, figures.window_ns),
        cautions=(
            *_cautions(device, whole, ways),
            *stray,
            *(_left_out("reads", read, mixes[0]) if reads else ()),
            *(_left_out("writes", write, mixes[1]) if writes else ()),
        ),
    )


def workload_of_trace(traced: TracedWorkload) -> tuple[Workload, tuple[str, ...]]:
    """A closed loop that keeps under way what was seen under way, and what that leaves open. Pure.

    Raises `UsageError` where no workload has such figures.
    """
    # Outstanding over all threads is what was seen; more threads than that were not at work at once.
    threads = min(traced.numjobs, traced.iodepth, OPTIONS["threads"].high or 1)
    depth = max(1, round(traced.iodepth / threads))
    reads, writes = "write" not in traced.rw, "read" not in traced.rw
    mixed = traced.rw in ("rw", "randrw")
    sides = [traced.bssplit_read] * reads + [traced.bssplit_write] * writes
    sizes = {share.bs for side in sides for share in side}
    durable = traced.write_through_share is not None and traced.write_through_share >= 0.5
    flushed = traced.writes_per_flush if writes and not durable else None
    workload = workload_from_words(
        traced.rw,
        max(sizes),
        iodepth=depth,
        threads=threads,
        rwmixread=traced.rwmixread if mixed else None,
        sync="dsync" if durable else "none",
        bssplit=",".join(_split(side) for side in sides) if len(sizes) > 1 else None,
        fdatasync=max(1, round(flushed)) if flushed and flushed <= FLUSHES_MATTER else 0,
    )
    return workload, tuple(_left_open(traced, workload))


def _split(side: Sequence[SizeShare]) -> str:
    """The last share is what the others leave, so that they add up."""
    parts = [f"{s.bs}/{100 * s.share:.2f}" for s in side[:-1]]
    return ":".join([*parts, str(side[-1].bs)])


def _left_open(traced: TracedWorkload, workload: Workload) -> list[str]:
    name = traced.device
    said = [
        f"recorded at {name}: caches, read-ahead, merges and the file system can change what the application issued",
        f"the depth is the number of I/Os in flight at {name}; a faster device could get more from the application",
    ]
    said += traced.cautions
    seen = f"{units.count(traced.iops)} IOPS were recorded"
    if traced.under_way is not None and traced.under_way < BUSY * workload.outstanding:
        idle = units.significant(traced.under_way, 2)
        said.append(
            f"{seen} with {idle} I/Os in flight on average, so the load had pauses; a closed loop has none; for the "
            f"same rate, use rate_iops = {traced.iops:.6g} instead of iodepth"
        )
    else:
        said.append(f"{seen}; whether the application could issue more is unknown")
    if traced.range_bytes is not None:
        first, end = traced.range_bytes
        said.append(f"it accessed {units.size(end - first)} of {name}; --size sets the size of the test file")
    if (share := traced.write_through_share) is not None and 0 < share < 1:
        taken = "all are" if share >= 0.5 else "none are"
        said.append(f"{units.percent(share, 2)} of the writes were write-through; in the profile {taken}")
    if workload.fdatasync:
        every = units.significant(traced.writes_per_flush or 0, 2)
        said.append(f"one flush per {every} writes was recorded; the profile spaces them evenly")
    return said


def _under_way(device: DeviceTrace, window_ns: int) -> float | None:
    times = [half.service for half in (device.read, device.write) if half.service is not None]
    return sum(t.count * t.mean_ns for t in times) / window_ns if times else None


def _seen(half: Half) -> Passing:
    return half.entered if half.entered.ios else half.issued


def _rw(reads: int, writes: int, sequential: bool) -> str:
    if reads and writes:
        return "rw" if sequential else "randrw"
    return ("" if sequential else "rand") + ("read" if reads else "write")


def _carrying(seen: Passing) -> int:
    """I/Os with data: a flush may come as a write of nothing."""
    return sum(n for _, n in seen.lengths) + seen.other_lengths


def _kept(seen: Passing) -> list[tuple[int, int]]:
    return [(bs, n) for bs, n in seen.lengths if n >= RARE * _carrying(seen)]


def _stray(reads: int, writes: int) -> list[str]:
    """Whether so little goes the other way that it rounds to 0 % of the I/Os, as a journal's blocks beside reads."""
    fewer, total = min(reads, writes), reads + writes
    if not fewer or round(100 * fewer / total):
        return []
    way = "writes" if writes < reads else "reads"
    return [f"{units.percent(fewer / total, 2)} of the I/Os are {way}; they are left out"]


def _mix(seen: Passing) -> tuple[SizeShare, ...]:
    """The lengths that are not rare; where they hold too little, the mean, which keeps the bytes of an I/O."""
    kept, total = _kept(seen), _carrying(seen)
    held = sum(n for _, n in kept)
    if total and held < HELD * total:
        # What divides every length is no less than the device's sector.
        step = math.gcd(*(bs for bs, _ in seen.lengths))
        return (SizeShare(bs=max(1, round(seen.bytes / total / step)) * step, share=1.0),)
    return tuple(SizeShare(bs=bs, share=n / held) for bs, n in kept)


def _left_out(name: str, seen: Passing, mix: Sequence[SizeShare]) -> list[str]:
    kept, total = _kept(seen), _carrying(seen)
    rare = total - sum(n for _, n in kept)
    if not rare:
        return []
    share, each = units.percent(rare / total, 2), units.percent(RARE, 1)
    said = f"{share} of the {name} have rare sizes, each below {each} of the {name}"
    if kept and {bs for bs, _ in kept} == {s.bs for s in mix}:
        return [f"{said}; they are left out"]
    return [f"{said}; in the profile all {name} have the mean size, {mix[0].bs} bytes"]


def _cautions(device: DeviceTrace, whole: bool, ways: Sequence[float]) -> list[str]:
    found = []
    if not whole:
        found.append("events were lost: shares and depth cover only the recorded events")
    if any(0.2 < share < SEQUENTIAL for share in ways):
        found.append("partly sequential: a single fio workload cannot describe it")
    if not (device.read.entered.ios + device.write.entered.ios):
        found.append(
            "requests were not recorded at queue entry: these are the device's requests, after splits and merges"
        )
    if device.read.read_ahead:
        found.append("the reads include read-ahead of the kernel")
    if device.target.role.startswith("under "):
        found.append(f"recorded at {device.target.name}, {device.target.role}")
    return found
