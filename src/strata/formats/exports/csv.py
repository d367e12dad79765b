"""Comma-separated values (RFC 4180), for spreadsheets, pandas and R."""

from __future__ import annotations

import csv
import io

from strata.formats.exports.sheet import Field, Sheet
from strata.text import controls

NAME, TITLE, TABULAR = "csv", "comma-separated values, the units in the headings", True


def write(sheet: Sheet) -> str:
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow([column.heading for column in sheet.columns])
    out.writerows([plain(field) for field in row] for row in sheet.rows)
    return text.getvalue()


def plain(field: Field) -> Field:
    """A text in one line that no spreadsheet calculates, and words of their own for what is true or not."""
    if isinstance(field, bool):
        return str(field).lower()
    if not isinstance(field, str):
        return field
    # The library does not quote a carriage return by itself, which others take for the end of a row.
    return ("'" if field.startswith(controls.FORMULA) else "") + controls.line(field)
