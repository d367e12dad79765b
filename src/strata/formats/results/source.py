"""One file as a reader gets it: its beginning to be recognised by, its text or its lines, and how a reader complains.

Text is UTF-8 (with or without a mark), UTF-16 as Windows' shells write it, or else it is taken for Latin-1.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from types import MappingProxyType
from typing import Any

from strata import parsing, units

HEAD_MOST = 256 * units.KIB
"""Bytes by which a file is recognised; what stands before a result in it may be so long."""
TEXT_MOST = 64 * units.MIB
"""Bytes of a file that is read as a whole."""
STREAM_MOST = 8 * units.GIB
"""Bytes of a file that is read line by line."""
LINE_MOST = units.MIB
"""Bytes of a line: a counter log has one column for each of 10 000 counters."""
CELLS_MOST = 20_000
"""Results of one file."""

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class Misread(ValueError):
    """Why a file is not what it seemed to be, and where: ``line`` and ``column`` count from 1."""

    def __init__(self, why: str, line: int | None = None, column: int | None = None) -> None:
        self.why, self.line, self.column = why, line, column
        super().__init__(why)


class Source:
    """``pieces`` gives the bytes of the file from its beginning each time it is called; ``size`` is their number.

    ``columns``: what the user says that columns of a plain table are, by their headings.
    """

    def __init__(
        self,
        name: str,
        size: int,
        pieces: Callable[[], Iterator[bytes]],
        columns: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name, self.size, self._pieces, self.columns = name, size, pieces, columns
        first = bytearray()
        for piece in pieces():
            first += piece
            if len(first) >= HEAD_MOST:
                break
        self.encoding = _encoding(bytes(first[:HEAD_MOST]))
        decoder = codecs.getincrementaldecoder(self.encoding)("replace")
        # Not its end: a character may be cut in two.
        self.head = decoder.decode(bytes(first[:HEAD_MOST])).replace("\r\n", "\n")
        self.binary = "\0" in self.head
        self._text: str | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """How its characters were read, where they are not UTF-8."""
        if self.encoding.startswith("utf-16"):
            return ("the text is UTF-16",)
        return ("the text is not UTF-8: it is taken for Latin-1",) if self.encoding == "latin-1" else ()

    def text(self) -> str:
        """All of it, lines ended by ``\\n``. Raises `Misread` where it is too long."""
        if self._text is None:
            if self.size > TEXT_MOST:
                raise Misread(f"it is larger than the {units.size(TEXT_MOST)} that are read of such a file")
            found = b"".join(self._pieces()).decode(self.encoding, "replace")
            if (at := found.find("\0")) >= 0:
                raise Misread("it holds a NUL character", *place(found, at))
            self._text = found.replace("\r\n", "\n")
        return self._text

    def blocks(self) -> Iterator[bytes]:
        """Whole lines in blocks of about a MiB, as UTF-8. Raises `Misread` for a line that is too long."""
        if self.encoding not in ("utf-8", "utf-8-sig", "latin-1"):
            yield self.text().encode()
            return
        left, first = b"", True
        for piece in self._pieces():
            block = left + (piece.removeprefix(codecs.BOM_UTF8) if first else piece)
            first = False
            end = block.rfind(b"\n") + 1
            left = block[end:]
            if len(left) > LINE_MOST:
                raise Misread(f"a line is longer than {units.size(LINE_MOST)}")
            if end:
                yield block[:end]
        if left:
            yield left

    def lines(self) -> Iterator[str]:
        """Line by line, without their ends."""
        plain = "latin-1" if self.encoding == "latin-1" else "utf-8"
        for block in self.blocks():
            for line in block.decode(plain, "replace").split("\n")[: None if block[-1:] != b"\n" else -1]:
                yield line.removesuffix("\r")


def _encoding(head: bytes) -> str:
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if len(head) > 3 and head[1::2][:64].count(0) * 2 > len(head[1::2][:64]):
        return "utf-16-le"
    if len(head) > 3 and head[::2][:64].count(0) * 2 > len(head[::2][:64]):
        return "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def place(text: str, at: int) -> tuple[int, int]:
    """(line, column) of the character ``at``, both from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def begins(head: str, pattern: str) -> bool:
    """Whether a line of the head matches."""
    return re.search(pattern, head, re.MULTILINE) is not None


def room(kept: Sized, most: int, what: str, line: int | None = None) -> None:
    """Raises `Misread` where another one would be more than are read."""
    if len(kept) >= most:
        raise Misread(f"more than {most} {what}", line)


def row_of(columns: Sequence[str], values: Sequence[str], line: int) -> dict[str, str]:
    """The values by their columns. Raises `Misread` where they are not as many."""
    if len(values) != len(columns):
        raise Misread(f"{len(values)} values for {len(columns)} columns", line)
    return dict(zip(columns, values, strict=True))


def documents_with(source: Source, key: str, kind: type, lacking: str) -> list[dict[str, Any]]:
    """The JSON documents of a file that hold such a value. Raises `Misread` with what is wrong where none does."""
    text = source.text()
    found, broken = parsing.json_documents(text)
    kept = [one for _, one in found if isinstance(one, dict) and isinstance(one.get(key), kind)]
    if not kept:
        where = place(text, broken[0]) if broken is not None else (None, None)
        raise Misread(f"the JSON breaks off or is damaged: {broken[1] if broken else lacking}", *where)
    return kept
