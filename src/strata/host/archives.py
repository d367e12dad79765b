"""Archives that somebody else made: zip, tar, gzip, xz, bzip2 and zstd, opened one file at a time within bounds.

Nothing is written under a name of an archive: each file goes into a temporary one that has none, so that no name leads
out of a folder and no link leads anywhere. Links, devices and hidden files are passed over, as in a folder. An archive
may be within an archive, `DEEPEST` times. Raises `Malformed`.
"""

from __future__ import annotations

import os
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from strata import units
from strata.parsing import BZIP2, XZ, ZSTD, Malformed, gunzipped, unpacked

DEEPEST = 4
"""Archives within archives: a compressed tar in a zip has three."""
MEMBERS_MOST = 10_000
"""Files of one archive, those of archives in it included."""
UNPACKED_MOST = 2 * units.GIB
"""Bytes of all of them."""
_NAME_MOST = 4096
_PIECE = units.MIB
_BLOCK = 512
"""Bytes of a head of a tar, and what its contents are padded to."""
_PACKED = {b"7z\xbc\xaf\x27\x1c": "7-Zip", b"Rar!": "RAR", b"\x04\x22\x4d\x18": "LZ4"}
_STREAMS = {b"\x1f\x8b": "gzip", b"BZh": BZIP2, b"\xfd7zXZ\x00": XZ, b"\x28\xb5\x2f\xfd": ZSTD}
"""One file each, which may be a tar."""
_ENTRY = b"PK\x01\x02"
"""Begins the entry of a file in the directory of a zip."""
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)


@dataclass
class Allowance:
    """What may still be taken out of an archive that the user named, and of those in it."""

    members: int = MEMBERS_MOST
    unpacked: int = UNPACKED_MOST

    def another(self) -> None:
        """Counts a file."""
        self.members -= 1
        if self.members < 0:
            raise Malformed(f"it holds more than {MEMBERS_MOST} files: unpack it and import a part")

    def take(self, count: int) -> None:
        """Counts bytes."""
        self.unpacked -= count
        if self.unpacked < 0:
            raise Malformed(f"it unpacks to more than {units.size(UNPACKED_MOST)}: unpack it and import a part")


def kind_of(fd: int) -> str | None:
    """``zip``, ``tar``, ``gzip``, ``xz``, ``bzip2`` or ``zstd``; None for what is no archive.

    Raises `Malformed` for another kind of one.
    """
    head = os.pread(fd, _BLOCK, 0)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    for mark, name in _STREAMS.items():
        if head.startswith(mark):
            return name
    if head[257:262] == b"ustar":
        return "tar"
    for mark, name in _PACKED.items():
        if head.startswith(mark):
            raise Malformed(f"it is packed with {name}, which is not unpacked here: unpack it first")
    return None


class _Broken(Malformed):
    """One file cannot be unpacked, and the others can."""


def members(fd: int, kind: str, allowed: Allowance) -> Iterator[tuple[str, int | str]]:
    """(name, descriptor) of each file, good until the next one is asked for; instead of it why it cannot be unpacked.

    What gzip, xz, bzip2 or zstd packed has no name.
    """
    for name, pieces in {"zip": _zip, "tar": _tar}[kind](fd) if kind in ("zip", "tar") else _stream(fd, kind):
        allowed.another()
        with tempfile.TemporaryFile(prefix="strata-") as kept:
            try:
                for piece in pieces:
                    allowed.take(len(piece))
                    kept.write(piece)
            except _Broken as e:
                yield name, str(e)
                continue
            kept.flush()
            yield name, kept.fileno()


def _shown(name: str) -> bool:
    """Whether it is a file that a folder would give: one without a part that begins with a dot."""
    return not any(part.startswith(".") and part not in (".", "..") for part in name.split("/"))


def _zip(fd: int) -> Iterator[tuple[str, Iterator[bytes]]]:
    # Its directory is read as a whole: each entry takes a hundred times its bytes.
    entries, before = 0, b""
    for piece in _whole(fd):
        entries += (before + piece).count(_ENTRY)
        before = piece[1 - len(_ENTRY) :]
        if entries > 2 * MEMBERS_MOST:
            raise Malformed(f"it holds more than {MEMBERS_MOST} files: unpack it and import a part")
    with os.fdopen(os.dup(fd), "rb") as file:
        try:
            archive = zipfile.ZipFile(file)
        except _DAMAGED as e:
            raise Malformed(f"it is damaged ({str(e)[:200]})") from e
        for one in archive.infolist():
            linked = stat.S_ISLNK(one.external_attr >> 16)
            if one.filename and not one.is_dir() and not linked and _shown(one.filename):
                yield one.filename[:_NAME_MOST], _unzipped(archive, one)


def _unzipped(archive: zipfile.ZipFile, one: zipfile.ZipInfo) -> Iterator[bytes]:
    if one.flag_bits & 1:
        raise _Broken("it is encrypted: unpack it, and import what is in it")
    if one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _Broken(f"it is packed by method {one.compress_type}, which is not unpacked here: unpack it first")
    try:
        with archive.open(one) as file:
            yield from _read(file)
    except _DAMAGED as e:
        raise _Broken(f"it is damaged in the archive ({str(e)[:200]})") from e


def _read(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


def _stream(fd: int, kind: str) -> Iterator[tuple[str, Iterator[bytes]]]:
    yield "", gunzipped(_whole(fd), _PIECE) if kind == "gzip" else unpacked(kind, _whole(fd), _PIECE)


def _tar(fd: int) -> Iterator[tuple[str, Iterator[bytes]]]:
    at, long = 0, ""
    while len(head := os.pread(fd, _BLOCK, at)) == _BLOCK and head.strip(b"\0"):
        size, kind = _number(head[124:136]), head[156:157]
        at += _BLOCK
        if size > os.fstat(fd).st_size - at:
            raise Malformed("it is damaged (it ends too early)")
        if kind in b"Lx":
            said = os.pread(fd, min(size, 4 * _NAME_MOST), at)
            long = _text(said) if kind == b"L" else _path(said) or long
        elif kind in (b"0", b"\0", b"7"):
            prefix = _text(head[345:500]) if head[257:263] == b"ustar\0" else ""
            name = long or "/".join(filter(None, (prefix, _text(head[:100]))))
            if not name.endswith("/") and _shown(name):
                yield name[:_NAME_MOST], _part(fd, at, size)
            long = ""
        elif kind != b"g":
            long = ""
        at += -(-size // _BLOCK) * _BLOCK


def _number(field: bytes) -> int:
    """Octal digits, or base 256 where the first bit is set."""
    if field[:1] >= b"\x80":
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    digits = field.strip(b"\0 ")
    if not digits.isdigit() or set(digits) & set(b"89"):
        raise Malformed("it is damaged (a size is no number)" if digits else "it is damaged (a size is missing)")
    return int(digits, 8)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _path(records: bytes) -> str:
    """The ``path`` of an extended head: records of ``LENGTH KEY=VALUE``; empty without one."""
    at = records.find(b" path=")
    return "" if at < 0 else records[at + 6 :].partition(b"\n")[0].decode("utf-8", "surrogateescape")


def _part(fd: int, at: int, size: int) -> Iterator[bytes]:
    end = at + size
    while at < end and (piece := os.pread(fd, min(_PIECE, end - at), at)):
        at += len(piece)
        yield piece


def _whole(fd: int) -> Iterator[bytes]:
    at = 0
    while piece := os.pread(fd, _PIECE, at):
        at += len(piece)
        yield piece
