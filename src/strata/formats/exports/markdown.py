"""A table in Markdown, for an issue or a merge request."""

from __future__ import annotations

from strata.formats.exports.sheet import Field, Sheet

NAME, TITLE, TABULAR = "markdown", "a table in Markdown", True
_MARKUP = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>#|!~&"})


def write(sheet: Sheet) -> str:
    """See the module. Columns that are empty in every row are left out."""
    rows = sheet.rows
    kept = [n for n in range(len(sheet.columns)) if any(row[n] is not None for row in rows)]
    lines = [[sheet.columns[n].heading.translate(_MARKUP) for n in kept], ["---"] * len(kept)]
    lines += [[_told(row[n]) for n in kept] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _told(field: Field) -> str:
    if isinstance(field, float):
        return f"{field:.6g}"
    return "" if field is None else " ".join(str(field).translate(_MARKUP).split())
