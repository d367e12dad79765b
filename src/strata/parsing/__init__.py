"""JSON, TOML, XML and deflated bytes that somebody else wrote, taken in within bounds.

Whoever wrote them may mean harm: a few bytes can stand for gigabytes, for a number of a million digits or for a nest
that no recursion comes out of. Nothing here takes more memory or time than a fixed multiple of what was read, and what
is not accepted is told by one error.
"""

from __future__ import annotations

import json
import math
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

DEEPEST = 64
"""Levels of a document; no format that is read has more than ten."""
VALUES_MOST = 2_000_000
"""Values of a document: a result of fio with all its latency bins has a tenth of it."""
LINE_MOST = 16 << 10
"""Characters of a line of TOML. Its parser takes the square of a key's length."""
DIGITS_MOST = 40
"""Of a whole number: one of 64 bits has 20, and reading a longer one takes the square of its length."""
WORD_BITS = 64
"""A whole number that needs more fits into nothing that it could mean."""

_BEGINS = re.compile(r"^[ \t]{0,16}[{\[]", re.MULTILINE)

RUN_ID = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
"""What a run may be called. Files are named after runs, so no name leads out of a folder or is hidden in it."""


class Malformed(ValueError):
    """Why a document cannot be used, as words for the end of an error."""


def json_of(text: str) -> Any:
    """The document in ``text``. Raises `Malformed` with the line."""
    if sum(map(text.count, "{[,")) > VALUES_MOST:
        raise Malformed(f"it holds more than {VALUES_MOST} values")
    try:
        found = json.loads(text, parse_int=whole, parse_constant=_no_number)
    except json.JSONDecodeError as e:
        raise Malformed(f"it is not valid JSON: {e.msg} in line {e.lineno}, column {e.colno}") from e
    except RecursionError:
        raise _too_deep() from None
    _check(found)
    return found


CANDIDATES_MOST = 64
"""Places in a text at which a document seems to begin and does not: each may cost a look at the whole rest."""


def json_documents(text: str) -> tuple[list[tuple[int, Any]], tuple[int, str] | None]:
    """Every object or list that begins a line, with its offset, whatever text stands around them.

    Beside them where one breaks off, and why: the one that was read furthest. Raises `Malformed` for what `json_of`
    refuses.
    """
    if sum(map(text.count, "{[,")) > VALUES_MOST:
        raise Malformed(f"it holds more than {VALUES_MOST} values")
    decoder = json.JSONDecoder(parse_int=whole, parse_constant=_no_number)
    found: list[tuple[int, Any]] = []
    broken: tuple[int, str] | None = None
    at, failed = 0, 0
    while (start := _BEGINS.search(text, at)) is not None and failed < CANDIDATES_MOST:
        begin = start.end() - 1
        try:
            document, at = decoder.raw_decode(text, begin)
        except json.JSONDecodeError as e:
            failed, at = failed + 1, begin + 1
            if broken is None or e.pos > broken[0]:
                broken = e.pos, e.msg
        except RecursionError:
            raise _too_deep() from None
        else:
            _check(document)
            found.append((begin, document))
    return found, broken


def xml_of(text: str) -> XmlElement:
    """The root of a document without entities or a DTD of its own. Raises `Malformed` with line and column."""
    # Here: few commands read any.
    from xml.parsers import expat

    if text.count("<") > VALUES_MOST:
        raise Malformed(f"it holds more than {VALUES_MOST} elements")
    parser = expat.ParserCreate()
    parser.buffer_text = True
    root = XmlElement("", {}, 0)
    open_: list[XmlElement] = [root]

    def refuse(*_: object) -> None:
        raise Malformed("it declares a document type or entities, which are not read")

    def begin(tag: str, attributes: dict[str, str]) -> None:
        if len(open_) > DEEPEST:
            raise _too_deep()
        made = XmlElement(tag, attributes, parser.CurrentLineNumber)
        open_[-1].children.append(made)
        open_.append(made)

    def words(data: str) -> None:
        open_[-1].text += data

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda _: open_.pop()
    parser.CharacterDataHandler = words
    try:
        parser.Parse(text, True)
    except expat.ExpatError as e:
        raise Malformed(
            f"it is not valid XML: {expat.ErrorString(e.code)} in line {e.lineno}, column {e.offset + 1}"
        ) from e
    except UnicodeEncodeError as e:
        raise Malformed("it holds an incomplete character (a lone surrogate)") from e
    return root.children[0]


@dataclass
class XmlElement:
    """``line`` is where it begins, ``text`` its own characters."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list[XmlElement] = field(default_factory=list)

    def every(self, tag: str) -> list[XmlElement]:
        """The children of that name."""
        return [one for one in self.children if one.tag == tag]

    def first(self, *path: str) -> XmlElement | None:
        """The first one along the path; None where there is none."""
        at: XmlElement | None = self
        for tag in path:
            at = None if at is None else next(iter(at.every(tag)), None)
        return at

    def said(self, *path: str) -> str | None:
        """Its text; None where it is not there or holds none."""
        found = self.first(*path)
        return None if found is None else found.text.strip() or None


def toml_of(text: str) -> dict[str, Any]:
    """The tables in ``text``. Raises `Malformed` with the line."""
    # Here: most commands read none, and the parser's patterns take milliseconds to be made.
    import tomllib

    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LINE_MOST:
            raise Malformed(f"line {number} has {len(line)} characters, at most {LINE_MOST} are read")
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise Malformed(str(e)) from e
    except RecursionError:
        raise _too_deep() from None
    except ValueError as e:
        # Numbers and dates that the parser hands on without a look.
        raise Malformed(f"a number or a date in it cannot be read ({e})") from e
    _check(found)
    return found


def words_of(table: Mapping[str, Any]) -> Iterator[str]:
    """``direct=1`` of the table ``{ direct = true }``, as the same is written on a command line."""
    return (f"{name}={int(value) if isinstance(value, bool) else value}" for name, value in table.items())


def inflate(packed: bytes, most: int) -> bytes:
    """What was deflated, at most ``most`` bytes of it. Raises `Malformed`."""
    unpacker = zlib.decompressobj()
    try:
        found = unpacker.decompress(packed, most + 1)
    except zlib.error as e:
        raise Malformed(f"it is damaged ({e})") from e
    if len(found) > most:
        raise Malformed(f"it unpacks to more than {most >> 20} MiB")
    if not unpacker.eof:
        raise Malformed("it is damaged (it ends too early)")
    return found


def gunzipped(pieces: Iterable[bytes], most: int) -> Iterator[bytes]:
    """What gzip packed, all parts of it, in pieces of at most ``most`` bytes; zeros behind them are padding.

    Raises `Malformed`. How much there is, is for the caller to bound.
    """
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        for piece in pieces:
            left = piece
            while left:
                if unpacker.eof:
                    left = left.lstrip(b"\0")
                    if not left:
                        break
                    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
                yield unpacker.decompress(left, most)
                left = unpacker.unused_data or unpacker.unconsumed_tail
        # What was held back when the last of the input was taken.
        while not unpacker.eof and (piece := unpacker.decompress(b"", most)):
            yield piece
    except zlib.error as e:
        raise Malformed(f"it is damaged ({e})") from e
    if not unpacker.eof:
        raise Malformed("it is damaged (it ends too early)")


XZ, BZIP2, ZSTD = "xz", "bzip2", "zstd"
DICTIONARY_BITS = 27
"""The power of two of the bytes that unpacking may look back over: zstd takes no more without being asked to, and it is
twice what xz needs at its most (`-9`)."""


def unpacked(kind: str, pieces: Iterable[bytes], most: int) -> Iterator[bytes]:
    """What `XZ`, `BZIP2` or `ZSTD` packed, all parts of it, in pieces of at most ``most`` bytes.

    Zeros behind them are padding. Raises `Malformed`. How much there is, is for the caller to bound.
    """
    # Here: few archives are of these kinds.
    import bz2
    import lzma

    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    def begun() -> lzma.LZMADecompressor | bz2.BZ2Decompressor | zstd.ZstdDecompressor:
        if kind == BZIP2:
            return bz2.BZ2Decompressor()
        if kind == ZSTD:
            return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: DICTIONARY_BITS})
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=1 << DICTIONARY_BITS)

    unpacker = begun()
    try:
        for piece in pieces:
            left = piece
            while left or not (unpacker.eof or unpacker.needs_input):
                if unpacker.eof:
                    left = left.lstrip(b"\0")
                    if not left:
                        break
                    unpacker = begun()
                yield unpacker.decompress(left, most)
                left = unpacker.unused_data if unpacker.eof else b""
    except (lzma.LZMAError, zstd.ZstdError, OSError, EOFError) as e:
        raise Malformed(f"it is damaged ({str(e)[:200]})") from e
    if not unpacker.eof:
        raise Malformed("it is damaged (it ends too early)")


def whole(digits: str) -> int:
    """A whole number. Raises `Malformed` for one that no value of ours could hold."""
    if len(digits) > DIGITS_MOST or (found := int(digits)).bit_length() > WORD_BITS:
        raise Malformed(f"a number of {len(digits)} digits does not fit in {WORD_BITS} bits")
    return found


def _no_number(word: str) -> float:
    raise Malformed(f"it holds {word}, which is not a number")


def _too_deep() -> Malformed:
    return Malformed(f"it is nested deeper than {DEEPEST} levels")


def _check(document: Any) -> None:
    """Depth, numbers and characters, without recursion."""
    level: list[Any] = [document]
    depth = 0
    while level:
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                for key in value:
                    _check_text(key)
                below += value.values()
            elif isinstance(value, list):
                below += value
            else:
                _check_one(value)
        level, depth = below, depth + 1
        if depth > DEEPEST:
            raise _too_deep()


def _check_one(value: Any) -> None:
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise Malformed("it holds a number that is not finite")
    elif isinstance(value, int) and value.bit_length() > WORD_BITS:
        raise Malformed(f"it holds a whole number that does not fit in {WORD_BITS} bits")


def _check_text(text: str) -> None:
    """Half of a character, as JSON can spell it, cannot be written anywhere; a NUL ends every path that holds it."""
    if "\0" in text:
        raise Malformed("it holds a NUL character")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as e:
            raise Malformed("it holds an incomplete character (a lone surrogate)") from e
