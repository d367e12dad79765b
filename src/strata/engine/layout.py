"""Where the bytes of Strata's file are: the same blocks for every layer.

A file's extents (FIEMAP) cut the file into segments; every layer uses only blocks that lie wholly inside one
segment, so the raw device, the file and a share above it are asked for the same blocks of the same medium.
The first `HEAD` bytes carry the file's mark and are never part of a workload.
"""

from __future__ import annotations

import json
import mmap
import os
from pathlib import Path

from strata import _core
from strata.errors import RunFailed
from strata.model.base import Value
from strata.model.plan import HEAD, Segment

UNMAPPABLE = frozenset({"unknown", "delalloc", "encoded", "encrypted", "inline", "tail", "not_aligned", "unwritten"})
"""Extent flags under which `physical` is not where the written data is."""

MAPPED = frozenset({"ext2", "ext3", "ext4", "xfs", "f2fs"})
"""File systems whose FIEMAP offsets are byte offsets into the one device below them. On btrfs and bcachefs they
are addresses of a volume of their own, so the raw device cannot be asked for the same blocks."""


class Layout(Value):
    """Segments for layers that address the file, and for the device below it (or why there are none)."""

    file: tuple[Segment, ...]
    device: tuple[Segment, ...] | None
    reason: str | None = None


def file_segments(size: int) -> tuple[Segment, ...]:
    """The whole measured range as one segment: for endpoints without a device below them that we read."""
    return (Segment(start=HEAD, length=size - HEAD, target=HEAD),)


def device_segments(path: Path, device: str, fs_kind: str, *, name: Path | None = None) -> Layout:
    """The file's extents on `device`, with proof: sampled blocks read raw equal the file's.

    ``name`` is what to call the file where ``path`` leads to it through a descriptor.

    Reads only. Where mapping is impossible, `device` of the result is None and `reason` says why.
    Raises `RunFailed` when the mapping exists and the data differ: then the layers are not the same data.
    """
    whole = file_segments(path.stat().st_size)
    if fs_kind not in MAPPED:
        return Layout(file=whole, device=None, reason=f"{fs_kind} does not map a file to offsets of one device")
    extents = json.loads(_core.fiemap(str(path)))["extents"]
    if bad := sorted({f for e in extents for f in e["flags"]} & UNMAPPABLE):
        return Layout(file=whole, device=None, reason=f"the file has extents that are {', '.join(bad)}")
    end = path.stat().st_size
    file_list, device_list = [], []
    for extent in extents:
        start, stop = max(extent["logical"], HEAD), min(extent["logical"] + extent["length"], end)
        if stop > start:
            physical = extent["physical"] + start - extent["logical"]
            file_list.append(Segment(start=start, length=stop - start, target=start))
            device_list.append(Segment(start=start, length=stop - start, target=physical))
    if sum(s.length for s in file_list) != end - HEAD:
        return Layout(file=whole, device=None, reason="the file has holes")
    try:
        _compare(path, device, device_list, name or path)
    except PermissionError:
        return Layout(file=tuple(file_list), device=None, reason=f"this user has no permission to read {device}")
    except OSError as e:
        return Layout(file=tuple(file_list), device=None, reason=f"reading {device} failed: {e.strerror}")
    return Layout(file=tuple(file_list), device=tuple(device_list))


def _compare(path: Path, device: str, segments: list[Segment], name: Path) -> None:
    step = max(1, len(segments) // 8)
    for segment in segments[::step]:
        through_file = _read_direct(str(path), segment.start)
        raw = _read_direct(device, segment.target)
        if through_file != raw:
            raise RunFailed(
                "the raw device does not hold the data of the file",
                f"({device} at byte {segment.target}, {name} at byte {segment.start})",
                "the file system does not place data where it reports",
                "leave out the raw layer: --layers 'file system,share'",
            )


def _read_direct(path: str, offset: int, length: int = 4096) -> bytes:
    """Past the page cache: a block device's own cached pages may be older than what the file system wrote."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    try:
        with mmap.mmap(-1, length) as buffer:
            got = os.preadv(fd, [buffer], offset)
            return bytes(buffer[:got])
    finally:
        os.close(fd)
