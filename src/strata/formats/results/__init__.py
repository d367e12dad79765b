"""Others' results: one module a format, found because it lies here.

A format is recognised by what a file holds, never by its name. A module says of itself:

``NAME``, ``TITLE``   its key, and what it is called for people
``ORDER``             formats are asked in this order: the stricter before the laxer
``recognise(head)``   whether the beginning of a file (text, at most `HEAD_MOST` bytes of it) is of this format
``read(source)``      what the file says. Raises `Misread` with line and column where it is not what it seemed to be
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from strata.errors import UsageError
from strata.formats.counter_sets import sets_said
from strata.formats.results import plain_table
from strata.formats.results._measured import begun
from strata.formats.results.source import HEAD_MOST, STREAM_MOST, Misread, Source
from strata.model.imported import Imported
from strata.model.plugins import modules
from strata.parsing import Malformed

__all__ = [
    "HEAD_MOST",
    "PLAIN_TABLE",
    "STREAM_MOST",
    "Format",
    "Misread",
    "Source",
    "formats",
    "read_as",
    "read_result",
    "recognised",
]

PLAIN_TABLE = plain_table.NAME
"""The format of last resort: whatever has headings that name figures."""
MOMENTS = 1 << 63
"""Nanoseconds since 1970 that a clock of 64 bits has."""
_WRONG = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError)
"""What a reader trips over where a file has the right words in the wrong places."""


@dataclass(frozen=True)
class Format:
    """``name`` is its key everywhere."""

    name: str
    title: str
    order: float
    recognise: Callable[[str], bool]
    read: Callable[[Source], Imported]


@functools.cache
def formats() -> tuple[Format, ...]:
    """Every format, in the order in which they are asked."""
    found = modules(sys.modules[__name__], "NAME")
    return tuple(sorted((Format(m.NAME, m.TITLE, m.ORDER, m.recognise, m.read) for m in found), key=lambda f: f.order))


def recognised(source: Source) -> Format:
    """The format of a file. Raises `Misread` with what the file looks like."""
    if not source.head.strip():
        raise Misread("it is empty")
    if not source.binary:
        for one in formats():
            # A file whose columns the user names is a plain table, if it is nothing else.
            if one.recognise(source.head) or (source.columns and one.name == PLAIN_TABLE):
                return one
    raise Misread(f"unknown format; it looks like {_looks_like(source)}")


def read_result(source: Source) -> Imported:
    """What the file says. Raises `Misread`, and nothing else."""
    return read_as(recognised(source), source)


def read_as(one: Format, source: Source) -> Imported:
    """What it says in this format. Raises `Misread`, and nothing else."""
    try:
        found = one.read(source)
    except Misread:
        raise
    except (Malformed, UsageError) as e:
        why = "; ".join(e.problems[:3]) or e.why or e.headline if isinstance(e, UsageError) else str(e)
        raise Misread(why) from e
    except _WRONG as e:
        raise Misread(f"it does not have the form of {one.title} ({type(e).__name__}: {str(e)[:200]})") from e
    if not found.cells and not found.counters:
        raise Misread(f"it is {one.title}, and nothing was measured in it", None)
    started = found.started_unix_ns
    if started is None:
        started = min((s.t_ns[0] for s in found.counters), default=begun(found.cells))
    if started is not None and started >= MOMENTS:
        raise Misread("its times are beyond the year 2262")
    sets = sets_said(found.counters)
    notes = (*source.notes, *found.notes, *([sets] if sets else []))
    return found.model_copy(update={"format": one.name, "notes": notes, "started_unix_ns": started})


def _looks_like(source: Source) -> str:
    head = source.head.lstrip("\ufeff \n\t")
    if source.binary:
        # RFC 1950: fio writes its logs so with log_compression.
        packed = next(iter(source.blocks()), b"").startswith((b"x\x01", b"x\x5e", b"x\x9c", b"x\xda"))
        return "a log that fio compressed (fio --inflate-log=FILE prints it)" if packed else "a binary file"
    if head.startswith("<"):
        tag = re.match(r"<(?:\?[^>]{0,500}>\s*<)?([\w:-]{1,40})", head)
        return f"XML or HTML ({tag[1]})" if tag else "XML or HTML"
    if head.startswith(("{", "[")):
        return "JSON of another tool"
    first = head.partition("\n")[0]
    return f"text that begins {first[:60]!r}"
