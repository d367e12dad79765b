"""What every table that is exported consists of: columns with a key, a heading and a kind, and rows.

A column has a ``key`` for programs, which carries its unit, and a ``heading`` as `strata.formats.table` reads it: the
laws can be asked of an exported table (``strata check``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from strata.model.estimate import Estimate

Field = str | int | float | bool | None
KINDS: dict[str, type] = {"text": str, "count": int, "number": float, "truth": bool}
"""What a column holds, beside nothing at all: a form with types has the same ones whatever was measured."""


@dataclass(frozen=True)
class ExportColumn:
    """``key`` for programs, ``heading`` for people and for `strata check`, ``kind`` one of `KINDS`."""

    key: str
    heading: str
    kind: str


@dataclass(frozen=True)
class Sheet:
    """``rows`` have a field for each of the columns; None is what was not measured."""

    columns: tuple[ExportColumn, ...]
    rows: tuple[tuple[Field, ...], ...]

    @classmethod
    def of(cls, columns: tuple[ExportColumn, ...], rows: Iterable[Iterable[Field]]) -> Sheet:
        """The rows as they come. What is not finite is not known."""
        return cls(columns, tuple(tuple(map(_known, row)) for row in rows))


def _known(field: Field) -> Field:
    return None if isinstance(field, float) and not math.isfinite(field) else field


def columns(text: str) -> tuple[ExportColumn, ...]:
    """``key [kind] [= heading]`` a line; a key alone is a number and its own heading."""
    made = []
    for line in filter(str.strip, text.split("\n")):
        said, _, heading = line.partition("=")
        key, *kind = said.split()
        made.append(ExportColumn(key, heading.strip() or key, *kind or ("number",)))
    return tuple(made)


A = TypeVar("A")
B = TypeVar("B")
Declared = tuple[tuple[str, Callable[[A, B], Field | tuple[Field, ...]]], ...]
"""Columns, each with what stands in it: lines of `columns`, and their fields of a whole and one of its parts."""


def heads(declared: Declared[A, B]) -> tuple[ExportColumn, ...]:
    """The columns alone."""
    return columns("\n".join(text for text, _ in declared))


def sheet_of(declared: Declared[A, B], rows: Iterable[tuple[A, B]]) -> Sheet:
    """A row for each part."""
    return Sheet.of(heads(declared), (_fields(declared, whole, part) for whole, part in rows))


def _fields(declared: Declared[A, B], whole: A, part: B) -> Iterator[Field]:
    for _, read in declared:
        found = read(whole, part)
        yield from found if isinstance(found, tuple) else (found,)


def bounds(key: str, heading: str, unit: str = "", tail: str = "") -> str:
    """The lines of a figure with its 95 % interval: ``mean_ns``, ``mean_low_ns``, … (``tail``: ``_ns``)."""
    ends = (("", ""), ("_low", " low"), ("_high", " high"))
    return "".join(f"{key}{end}{tail} = {heading}{word}{unit and f' [{unit}]'}\n" for end, word in ends)


def interval(estimate: Estimate | None) -> tuple[Field, Field, Field]:
    """The fields of `bounds`."""
    return (None, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)
