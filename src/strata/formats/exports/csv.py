"""Comma-separated values (RFC 4180), for spreadsheets, pandas and R."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from strata.formats.exports.tables import TABLES, Field, MeasuredRun

NAME, TITLE, TABULAR = "csv", "comma-separated values, the units in the headings", True
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a text that begins with one of these for a formula, which can run programs."""


def write(runs: Sequence[MeasuredRun], table: str) -> str:
    """See the module."""
    text, of = io.StringIO(), TABLES[table]
    out = csv.writer(text, lineterminator="\n")
    out.writerow([column.heading for column in of.columns])
    out.writerows([plain(field) for field in row] for row in of.every(runs))
    return text.getvalue()


def plain(field: Field) -> Field:
    """A text that no spreadsheet calculates."""
    return f"'{field}" if isinstance(field, str) and field.startswith(_FORMULA) else field
