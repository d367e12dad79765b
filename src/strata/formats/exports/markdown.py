"""A table in Markdown, for an issue or a merge request."""

from __future__ import annotations

from collections.abc import Sequence

from strata.formats.exports.tables import TABLES, Field, MeasuredRun

NAME, TITLE, TABULAR = "markdown", "a table in Markdown", True
_MARKUP = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>#|!~&"})


def write(runs: Sequence[MeasuredRun], table: str) -> str:
    """See the module. Columns that are empty in every row are left out."""
    of = TABLES[table]
    rows = list(of.every(runs))
    kept = [n for n in range(len(of.columns)) if any(row[n] is not None for row in rows)]
    lines = [[of.columns[n].heading.translate(_MARKUP) for n in kept], ["---"] * len(kept)]
    lines += [[_told(row[n]) for n in kept] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _told(field: Field) -> str:
    if isinstance(field, float):
        return f"{field:.6g}"
    return "" if field is None else " ".join(str(field).translate(_MARKUP).split())
