"""JSON Lines: one object a row, its keys with their units."""

from __future__ import annotations

import json

from strata.formats.exports.sheet import Sheet

NAME, TITLE, TABULAR = "jsonl", "JSON Lines: one object a row", True


def write(sheet: Sheet) -> str:
    """See the module. What is not known has no key."""
    keys = [column.key for column in sheet.columns]
    rows = ({k: v for k, v in zip(keys, row, strict=True) if v is not None} for row in sheet.rows)
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
