"""Where the bytes of Strata's file are: the same blocks for every layer.

A file's extents (FIEMAP) cut the file into segments; every layer uses only blocks that lie wholly inside one
segment, so the raw device, the file and a share above it are asked for the same blocks of the same medium.
The first `HEAD` bytes carry the file's mark and are never part of a workload.
"""

from __future__ import annotations

import hashlib
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


class BlockSample(Value):
    """A block of the file: where it is in the file and on the device, and the digest of what the file holds there."""

    file_at: int
    device_at: int
    digest: str


class Extents(Layout):
    """Where the file says that its blocks are, before any device was compared, and samples to compare one with."""

    name: str
    samples: tuple[BlockSample, ...] = ()


def file_extents(path: Path, fs_kind: str, *, name: Path | None = None) -> Extents:
    """The file's extents, on the machine that has it. Reads only.

    ``name`` is what to call the file where ``path`` leads to it through a descriptor. Where mapping is impossible,
    `device` of the result is None and `reason` says why.
    """
    called, end = str(name or path), path.stat().st_size
    whole = file_segments(end)

    def none(file: tuple[Segment, ...], reason: str) -> Extents:
        return Extents(file=file, device=None, reason=reason, name=called)

    if fs_kind not in MAPPED:
        return none(whole, f"{fs_kind} does not map a file to offsets of one device")
    extents = json.loads(_core.fiemap(str(path)))["extents"]
    if bad := sorted({f for e in extents for f in e["flags"]} & UNMAPPABLE):
        return none(whole, f"the file has extents that are {', '.join(bad)}")
    file_list, device_list = [], []
    for extent in extents:
        start, stop = max(extent["logical"], HEAD), min(extent["logical"] + extent["length"], end)
        if stop > start:
            physical = extent["physical"] + start - extent["logical"]
            file_list.append(Segment(start=start, length=stop - start, target=start))
            device_list.append(Segment(start=start, length=stop - start, target=physical))
    if sum(s.length for s in file_list) != end - HEAD:
        return none(whole, "the file has holes")
    try:
        samples = _sampled(path, device_list)
    except OSError as e:
        return none(tuple(file_list), f"reading {called} failed: {e.strerror}")
    return Extents(file=tuple(file_list), device=tuple(device_list), name=called, samples=samples)


def on_device(extents: Extents, device: str) -> Layout:
    """The same on a machine that has the device, with proof: sampled blocks read raw equal the file's.

    Reads only. Where the device cannot be read, `device` of the result is None and `reason` says why.
    Raises `RunFailed` when the mapping exists and the data differ: then the layers are not the same data.
    """
    if extents.device is None:
        return Layout(file=extents.file, device=None, reason=extents.reason)
    try:
        _compare(extents, device)
    except PermissionError:
        return Layout(file=extents.file, device=None, reason=f"this user has no permission to read {device}")
    except OSError as e:
        return Layout(file=extents.file, device=None, reason=f"reading {device} failed: {e.strerror}")
    return Layout(file=extents.file, device=extents.device)


def _sampled(path: Path, segments: list[Segment]) -> tuple[BlockSample, ...]:
    step = max(1, len(segments) // 8)
    return tuple(
        BlockSample(file_at=s.start, device_at=s.target, digest=_digest(_read_direct(str(path), s.start)))
        for s in segments[::step]
    )


def _compare(extents: Extents, device: str) -> None:
    for sample in extents.samples:
        if _digest(_read_direct(device, sample.device_at)) != sample.digest:
            raise RunFailed(
                "the raw device does not hold the data of the file",
                f"({device} at byte {sample.device_at}, {extents.name} at byte {sample.file_at})",
                "the file system does not place data where it reports",
                "leave out the raw layer: --layers 'file system,share'",
            )


def _digest(block: bytes) -> str:
    return hashlib.sha256(block).hexdigest()


def _read_direct(path: str, offset: int, length: int = 4096) -> bytes:
    """Past the page cache: a block device's own cached pages may be older than what the file system wrote."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    try:
        with mmap.mmap(-1, length) as buffer:
            got = os.preadv(fd, [buffer], offset)
            return bytes(buffer[:got])
    finally:
        os.close(fd)
