"""The figures of a page as CSV: plain numbers in base units (bytes, ns, shares), for spreadsheets and programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from strata.model.estimate import Estimate

Cell = str | int | float | None
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def text_of(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """RFC 4180 with plain line feeds. What is not known is empty, never 0."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_field(value) for value in row] for row in rows)
    return out.getvalue()


def interval(name: str) -> tuple[str, str, str]:
    """The headings of an estimate: ``iops``, ``iops_low``, ``iops_high``."""
    return name, f"{name}_low", f"{name}_high"


def ends(estimate: Estimate | None) -> tuple[Cell, Cell, Cell]:
    """An estimate as `interval` heads it."""
    return (None, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)


def value_of(estimate: Estimate | None) -> float | None:
    """Its value alone."""
    return None if estimate is None else estimate.value


def _field(value: Cell) -> Cell:
    # A name from outside must stay a name in a spreadsheet: these begin a formula there.
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
