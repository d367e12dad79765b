"""JSON Lines: one object a row, its keys with their units."""

from __future__ import annotations

import json
from collections.abc import Sequence

from strata.formats.exports.tables import TABLES, MeasuredRun

NAME, TITLE, TABULAR = "jsonl", "JSON Lines: one object a row", True


def write(runs: Sequence[MeasuredRun], table: str) -> str:
    """See the module. What is not known has no key."""
    of = TABLES[table]
    keys = [column.key for column in of.columns]
    rows = ({k: v for k, v in zip(keys, row, strict=True) if v is not None} for row in of.every(runs))
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
