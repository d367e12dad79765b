"""A plain table: CSV or TSV with a heading for each column, as people keep their results.

Headings as `strata check` reads them; ``--column`` names those that it does not know. A row is a cell: pattern, size,
depth and threads are what was asked, a column ``layer`` or ``target`` is what was driven. Units are taken as they are
printed; ``# key = value`` before the table holds for all rows.
"""

from __future__ import annotations

import re
from typing import Any

from strata.errors import UsageError
from strata.formats.results.source import Misread, Source
from strata.formats.table import numbers_not_read, read_table
from strata.model.figures import Dimension, Figure, Role, Row, Table
from strata.model.imported import Imported, ImportedCell, Measured

NAME, TITLE, ORDER = "table", "a plain table (CSV, TSV)", 900
CELLS_MOST = 10_000
_MEASURED = ("iops", "rate", "ios", "bytes", "time")
_PATTERNS = {
    "random read": "randread", "random write": "randwrite", "sequential read": "read", "sequential write": "write",
    "random rw": "randrw", "sequential rw": "rw",
}  # fmt: skip
_MIX = re.compile(r"(random|sequential) (\d{1,3})/(\d{1,3})(?: .*)?")
_TARGETS = ("target", "layer", "endpoint", "device", "file")


def recognise(head: str) -> bool:
    """A heading that names a rate, and a row below it that has one."""
    lines = head.split("\n")
    some = "\n".join(lines[:20] if len(lines) > 1 else lines)
    if "," not in some and "\t" not in some:
        return False
    try:
        return any(_is_measured(row) for row in read_table(some, "").rows)
    except UsageError:
        return False


def read(source: Source) -> Imported:
    """A cell for each measured row. Raises `Misread`."""
    text = source.text()
    table = read_table(text, source.name, source.columns)
    rows = [(at, row) for at, row in zip(_lines(text), table.rows, strict=False) if row.role is Role.MEASURED]
    if len(rows) > CELLS_MOST:
        raise Misread(f"more than {CELLS_MOST} rows")
    unread = numbers_not_read(table)
    left = [f"{len(table.rows) - len(rows)} rows that were planned or said"] if len(rows) < len(table.rows) else []
    left += [f"columns that are not recognised: {', '.join(unread)}; name them with --column"] if unread else []
    rates = {
        f.unit for _, row in rows for f in row.figures.values() if f.dimension is Dimension.RATE and len(f.readings) > 1
    }
    notes = [f"{unit} is taken as it is printed: {_bytes(rows, unit):,.0f} bytes a second" for unit in sorted(rates)]
    cells = tuple(_cell(table, row, at) for at, row in rows if _is_measured(row))
    return Imported(format=NAME, tool="a table", cells=cells, notes=tuple(notes), left_out=tuple(left))


def _is_measured(row: Row) -> bool:
    return row.role is Role.MEASURED and any(key.partition(".")[0] in _MEASURED for key in row.figures)


def _bytes(rows: list[tuple[int, Row]], unit: str) -> float:
    return next(f.readings[0][1] for _, row in rows for f in row.figures.values() if f.unit == unit)


def _lines(text: str) -> list[int]:
    """The lines of the rows: those that are neither empty nor a remark, but the heading."""
    return [n for n, line in enumerate(text.split("\n"), 1) if line.strip() and not line.startswith("#")][1:]


def _cell(table: Table, row: Row, line: int) -> ImportedCell:
    asked = _asked(table, row)
    sides: dict[str, dict[str, Figure]] = {}
    for key, figure in row.figures.items():
        head, _, side = key.rpartition(".")
        own, name = (side, head) if side in ("read", "write") and head else ("", key)
        if name.partition(".")[0] in _MEASURED and figure.readings:
            sides.setdefault(own, {})[name] = figure
    whole = sides.pop("", None)
    rw = str(asked.get("rw", ""))
    only = "read" if rw.endswith("read") else "write" if rw.endswith("write") else ""
    if whole is not None and only and not sides:
        sides, whole = {only: whole}, None
    seconds = table.figure(row, "seconds")
    target = next((word for name in _TARGETS if (word := table.word(row, name))), "")
    return ImportedCell(
        name=f"{target[:200]}, line {line}" if target else f"line {line}", line=line, asked=asked,
        words={"target": target[:256]} if target else {},
        sides={name: Measured(figures=figures) for name, figures in sides.items()},
        total=None if whole is None else Measured(figures=whole),
        seconds=None if seconds is None or not seconds.readings else seconds.base / 1e9,
    )  # fmt: skip


def _asked(table: Table, row: Row) -> dict[str, Any]:
    """What is known of the workload, by its options' names."""
    asked: dict[str, Any] = {}
    pattern = (table.word(row, "pattern") or "").partition(",")[0].strip()
    if pattern in _PATTERNS:
        asked["rw"] = _PATTERNS[pattern]
    elif (found := _MIX.fullmatch(pattern)) is not None and int(found[2]) + int(found[3]) == 100:
        asked |= {"rw": "randrw" if found[1] == "random" else "rw", "rwmixread": int(found[2])}
    for key, option in (("size", "bs"), ("depth", "iodepth"), ("threads", "threads")):
        figure = table.figure(row, key)
        if figure is not None and figure.readings and figure.base == int(figure.base) > 0:
            asked[option] = int(figure.base)
    if (caching := table.word(row, "caching")) in ("on", "off"):
        asked["direct"] = caching == "off"
    return asked
