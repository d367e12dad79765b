"""What a trace says about the load that made it, in the words of a workload."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from strata.model.base import Value
from strata.model.trace import DeviceTrace, Half, Passing, TraceFigures

SEQUENTIAL = 0.8
"""From this windowed share on a direction is called sequential."""
RARE = 0.01
"""Lengths of a smaller share are left out of the mix."""


class SizeShare(Value):
    """One length of a direction's mix."""

    bs: int
    share: float = Field(gt=0, le=1)


class TracedWorkload(Value):
    """The load of one device as it entered, before splits and merges: the application's or file system's own I/Os.

    ``rw`` in fio's words; ``iodepth`` is the mean number under way, rounded, at least 1; ``iops`` what was seen,
    which is a rate that was asked only where the load was not limited by the device. ``range_bytes``: from the first
    to the last byte touched. ``sequential`` by direction: the windowed share.
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
    cautions: tuple[str, ...] = ()


def workload_of(figures: TraceFigures, whole: bool = True) -> TracedWorkload | None:
    """The load of the uppermost device that saw any; None where none did. Pure."""
    device = next((d for d in figures.devices if d.read.entered.ios + d.write.entered.ios or d.requests), None)
    if device is None or not figures.window_ns:
        return None
    read, write = _seen(device.read), _seen(device.write)
    reads, writes = read.ios, write.ios
    total = reads + writes
    ways = [h.order.windowed_share for h in (read, write) if h.ios and h.order.windowed_share is not None]
    sequential = bool(ways) and all(share >= SEQUENTIAL for share in ways)
    first = [r[0] for h in (read, write) if (r := h.range) is not None]
    end = [r[1] for h in (read, write) if (r := h.range) is not None]
    return TracedWorkload(
        device=device.target.name,
        rw=_rw(reads, writes, sequential),
        rwmixread=round(100 * reads / total) if total else 0,
        bssplit_read=_mix(read.lengths, reads),
        bssplit_write=_mix(write.lengths, writes),
        iodepth=max(1, round(device.mean_depth or 1)),
        numjobs=max(1, round(device.entering.per_window or 1)),
        iops=total / (figures.window_ns / 1e9),
        range_bytes=(min(first), max(end)) if first else None,
        sequential_read=read.order.windowed_share,
        sequential_write=write.order.windowed_share,
        write_through_share=device.write.write_through / device.write.issued.ios if device.write.issued.ios else None,
        cautions=tuple(_cautions(device, whole, ways)),
    )


def _seen(half: Half) -> Passing:
    return half.entered if half.entered.ios else half.issued


def _rw(reads: int, writes: int, sequential: bool) -> str:
    if reads and writes:
        return "rw" if sequential else "randrw"
    return ("" if sequential else "rand") + ("read" if reads else "write")


def _mix(lengths: Sequence[tuple[int, int]], total: int) -> tuple[SizeShare, ...]:
    kept = [(bs, n) for bs, n in lengths if total and n / total >= RARE]
    held = sum(n for _, n in kept)
    return tuple(SizeShare(bs=bs, share=n / held) for bs, n in kept)


def _cautions(device: DeviceTrace, whole: bool, ways: Sequence[float]) -> list[str]:
    found = []
    if not whole:
        found.append("events were lost: shares and depth are of what was seen")
    if any(0.2 < share < SEQUENTIAL for share in ways):
        found.append("partly sequential: one workload of fio's words does not describe it")
    if not (device.read.entered.ios + device.write.entered.ios):
        found.append("the entrance was not recorded: these are the device's requests, after splits and merges")
    if device.read.read_ahead:
        found.append("read-ahead of the kernel is among the reads")
    if device.target.role.startswith("under "):
        found.append(f"seen at {device.target.name}, {device.target.role}")
    return found
