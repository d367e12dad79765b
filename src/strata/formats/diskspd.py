"""The diskspd command line that asks the same of a target; `strata.formats.diskspd_command` reads it back.

Plain bytes only. diskspd takes whole seconds, holds back each thread by itself (``-g``: bytes a *millisecond*, or IOPS
with ``i``), and begins all threads of a sequence at one place unless ``-T`` says otherwise.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from strata.model.access import ByteRange, Interlocked, Strided, Zones
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.fio_words import entering
from strata.model.plan import Segment, clipped
from strata.model.workload import Cache, ClosedLoop, Limits, Sync, Workload
from strata.units import NS_PER_MS

ZEROS_PERCENT = 99
"""A compressor's share that ``-Z`` (zeros) stands for, as the reader of these command lines has it."""


@dataclass
class DiskspdWords:
    """``words`` stand between ``diskspd`` and the target. ``complaints`` say what it has no words for: then they are
    not the workload. ``notes`` say where the same words mean something else there."""

    words: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def diskspd_line(
    endpoint: Endpoint, workload: Workload, segments: Sequence[Segment], ramp_s: float, runtime_s: float
) -> str | None:
    """One command line; None where diskspd cannot be told, reaches no such endpoint, or would write to a device."""
    local = endpoint.kind in (EndpointKind.FILE, EndpointKind.BLOCK) and endpoint.path is not None
    used = clipped(segments, workload.range)
    if not local or not used or (endpoint.kind is EndpointKind.BLOCK and workload.rw.writes):
        return None
    # One contiguous range, as fio's command has it.
    whole = ByteRange(start=min(s.target for s in used), length=sum(s.length for s in used))
    made = diskspd_words(workload.model_copy(update={"range": whole}), whole.start + (whole.length or 0))
    if made.complaints:
        return None
    words = ["diskspd", *made.words, "-L", *timed(ramp_s, runtime_s), str(endpoint.path)]
    return shlex.join([*entering(endpoint), *words])


def diskspd_words(workload: Workload, size: int) -> DiskspdWords:
    """What asks ``workload`` of a file of ``size`` bytes, without how long and how it is printed."""
    made = DiskspdWords([f"-b{workload.bs}", f"-t{workload.threads}"])
    if isinstance(workload.arrival, ClosedLoop):
        made.words.append(f"-o{workload.arrival.iodepth}")
    else:
        made.complaints.append("an open loop (rate_iops): diskspd keeps a depth; --limit-iops is a ceiling")
    _direction(workload, made)
    (_random if workload.rw.random else _sequential)(workload, size, made)
    made.words.append(_caching(workload))
    if workload.sync is Sync.RWF_DSYNC:
        made.notes.append("writes are made durable by the way the file is opened, not one by one")
    limits = workload.arrival.limits if isinstance(workload.arrival, ClosedLoop) else None
    if limits is not None:
        _held_back(limits, workload.threads, made)
    if (piece := workload.range) is not None:
        made.words.append(f"-B{piece.start}" + ("" if piece.length is None else f":{piece.length}"))
    if workload.rw.writes:
        _data(workload, made)
    made.words.append(f"-z{workload.seed}")
    lacks = (row.asks or row.name for row, _ in workload.asked() if row.key and not row.diskspd)
    made.complaints += [*dict.fromkeys(lacks), *(why for why, there in _UNSAID.items() if there(workload))]
    return made


_UNSAID: dict[str, Callable[[Workload], bool]] = {
    "several block sizes (bssplit)": lambda w: w.bssplit is not None,
    "several targets with shares": lambda w: bool(w.shares),
    "a cold or warm page cache (cache)": lambda w: w.cache is not Cache.AS_FOUND,
}


def timed(ramp_s: float, runtime_s: float) -> list[str]:
    """``-W`` and ``-d``: whole seconds, a part of one as a whole one."""
    return [f"-W{math.ceil(ramp_s)}", f"-d{max(1, math.ceil(runtime_s))}"]


def _direction(workload: Workload, made: DiskspdWords) -> None:
    if not workload.rw.reads and not workload.rw.carries:
        made.complaints.append(f"rw={workload.rw.value}")
        return
    made.words.append(f"-w{round(100 * (1 - workload.read_share))}")


def _random(workload: Workload, size: int, made: DiskspdWords) -> None:
    order = workload.order
    made.words.append("-r" if workload.align is None else f"-r{workload.align}")
    if isinstance(order, Zones):
        absolute = {zone.range_bytes is not None for zone in order.zones}
        spans = [z.range_percent if z.range_bytes is None else z.range_bytes for z in order.zones]
        whole = not any(x % 1 for x in (*(z.access_percent for z in order.zones), *(s or 0 for s in spans)))
        if len(absolute) > 1 or not whole:
            made.complaints.append("zones in parts of a percent, or in percent and bytes together")
            return
        kind = "abs" if absolute == {True} else "pct"
        parts = [f"{z.access_percent:.0f}/{span:.0f}" for z, span in zip(order.zones, spans, strict=True)]
        made.words.append(f"-rd{kind}{':'.join(parts)}")
    elif order is not None:
        made.complaints.append(f"the order {order.words!r}")


def _sequential(workload: Workload, size: int, made: DiskspdWords) -> None:
    order, threads = workload.order, workload.threads
    if workload.align is not None:
        made.complaints.append("sequential I/O aligned otherwise than by its size (blockalign)")
    if isinstance(order, Interlocked):
        # One thread alone has nobody to take turns with.
        made.words += ["-si"] if threads > 1 else []
        return
    stride = order.stride if isinstance(order, Strided) else None
    if stride is not None:
        made.words.append(f"-s{stride}")
    apart = order.thread_offset if isinstance(order, Strided) else None
    if apart is None and threads > 1:
        room = size if workload.range is None or workload.range.length is None else workload.range.length
        apart = room // threads // workload.bs * workload.bs
        made.notes.append(f"each thread has its own part of the file by -T{apart}")
    if apart is not None:
        made.words.append(f"-T{apart}")


def _caching(workload: Workload) -> str:
    durable = workload.rw.carries and workload.sync is not Sync.NONE
    if not workload.direct:
        return "-Sw" if durable else "-Sb"
    # Of reads both are the same, and diskspd for Linux knows this one alone.
    return "-Sh" if durable or not workload.rw.carries else "-Su"


def _held_back(limits: Limits, threads: int, made: DiskspdWords) -> None:
    if limits.iops is not None and limits.bytes_per_s is not None:
        made.complaints.append("a ceiling of IOPS and one of bytes together")
    elif limits.iops is not None or limits.bytes_per_s is not None:
        # Of each thread; bytes a millisecond.
        value = (limits.bytes_per_s or 0.0) / 1000 if limits.iops is None else limits.iops
        each = value / threads
        if each < 1 or each % 1:
            made.complaints.append("a ceiling that is no whole number for each thread (bytes: a millisecond)")
        made.words.append(f"-g{each:.0f}" + ("" if limits.iops is None else "i"))
        if limits.think_ns:
            made.complaints.append("pauses beside a ceiling: diskspd ignores -j with -g")
    if limits.think_ns:
        if limits.think_ns % NS_PER_MS:
            made.complaints.append("pauses of parts of a millisecond")
        made.words += [f"-i{limits.think_every * threads}", f"-j{limits.think_ns // NS_PER_MS}"]


def _data(workload: Workload, made: DiskspdWords) -> None:
    data = workload.data
    if data is None:
        # Without -Z it writes a pattern that repeats every 256 bytes.
        made.words.append(f"-Z{workload.bs}")
    elif data.dedupe_percent or data.compress_percent not in (0, ZEROS_PERCENT):
        made.complaints.append("data that compresses or repeats by a stated share")
    else:
        made.words.append("-Z" if data.compress_percent else "-Zr")
