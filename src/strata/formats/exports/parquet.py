"""Parquet, for DuckDB, pandas, Spark and others: every column has the same type whatever was measured."""

from __future__ import annotations

import io

from strata.errors import UsageError
from strata.formats.exports.sheet import Sheet
from strata.text import controls

NAME, TITLE, TABULAR = "parquet", "Parquet, which needs pyarrow", True
_TYPES = {"text": "string", "count": "int64", "number": "float64", "truth": "bool"}


def write(sheet: Sheet) -> bytes:
    """See the module. Raises `UsageError` where pyarrow is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as e:
        why = "the package pyarrow is not installed"
        raise UsageError("cannot export as", NAME, why, "pip install 'strata[parquet]', or export csv or jsonl") from e
    # What no encoding has, such as the bytes of a path that are no text, is no text here either.
    rows = [[controls.halves(f) if isinstance(f, str) else f for f in row] for row in sheet.rows]
    filled = {}
    for n, column in enumerate(sheet.columns):
        try:
            filled[column.key] = pyarrow.array([row[n] for row in rows], _TYPES[column.kind])
        except (ArithmeticError, ValueError) as e:
            # Figures of another tool can be larger than 64 bits.
            raise UsageError("cannot export as parquet the column", column.key, str(e), "export csv or jsonl") from e
    made = io.BytesIO()
    parquet.write_table(pyarrow.table(filled), made)
    return made.getvalue()
