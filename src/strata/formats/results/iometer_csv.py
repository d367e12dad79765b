"""Iometer's results (results.csv): the rows ``ALL``, which are the sums of its managers, workers and disks.

``MBps`` was 2^20 bytes before 1.1.0, which prints both by name; times are ms. Access specifications stand before the
results that they are of, by name. How many I/Os were kept in flight stands for each disk only, if at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from strata.formats.results._measured import printed, whole
from strata.formats.results.source import CELLS_MOST, Misread, Source, begins, room
from strata.model.figures import Dimension, exact
from strata.model.imported import Imported, ImportedCell, Measured

NAME, TITLE, ORDER = "iometer-csv", "Iometer's CSV", 38

_HEAD = "'Target Type,Target Name,Access Specification Name,"
_SPECIFICATION = "'Access specification name,"
_LINES = "'size,% of size,% reads,"
SPECIFICATIONS_MOST = 1000


def recognise(head: str) -> bool:
    return begins(head, rf"^{_HEAD}") or begins(head, r"^'TEST SETUP =====")


def read(source: Source) -> Imported:
    """One cell for each row ``ALL``."""
    cells: list[ImportedCell] = []
    columns: list[str] = []
    specifications: dict[str, list[list[str]]] = {}
    version, named, at = "", "", ""
    for n, line in enumerate(source.lines(), 1):
        if line.startswith("'"):
            at = line
            columns = line.removeprefix("'").split(",") if line.startswith(_HEAD) else []
        elif at.startswith(_SPECIFICATION):
            # A name may have commas, what stands behind it has none.
            named, at = line.strip().rpartition(",")[0], ""
            specifications[named] = []
        elif at.startswith(_LINES) and line.strip():
            specifications.setdefault(named, []).append(line.strip().split(","))
        elif columns and line.startswith("ALL,"):
            fields = _fields(line, specifications)
            if not 36 <= len(fields) <= len(columns):
                raise Misread(f"{len(fields)} values for {len(columns)} columns", n)
            room(cells, CELLS_MOST, "results", n)
            row = dict(zip(columns, map(str.strip, fields), strict=False))
            if (cell := _cell(row, specifications, n)) is not None:
                cells.append(cell)
        elif line.startswith("Version "):
            version = line.removeprefix("Version ").strip()[:40]
        if len(specifications) > SPECIFICATIONS_MOST:
            raise Misread(f"more than {SPECIFICATIONS_MOST} access specifications", n)
    return Imported(
        format=NAME, tool="Iometer", version=version, cells=tuple(cells),
        notes=(
            "MiBps, and MBps without (Decimal), are 2^20 bytes a second; times are ms",
            "a length is I/Os ÷ IOPS: it does not print one",
        ),
        left_out=("rows of managers, processors, workers and disks: the rows ALL are their sums",),
    )  # fmt: skip


def _fields(line: str, specifications: Mapping[str, object]) -> list[str]:
    """The values of a row. Nothing is quoted: a name with commas is known from its specification."""
    kind, target, rest = (*line.split(",", 2), "", "")[:3]
    name = max((one for one in specifications if rest.startswith(f"{one},")), key=len, default=rest.partition(",")[0])
    return [kind, target, name, *rest[len(name) + 1 :].rstrip().removesuffix(",").split(",")]


def _cell(row: Mapping[str, str], specifications: Mapping[str, list[list[str]]], n: int) -> ImportedCell | None:
    sides = {side: made for side in ("read", "write") if (made := _side(row, side.capitalize())) is not None}
    if not sides:
        return None
    name = row["Access Specification Name"]
    asked, why = _asked(specifications.get(name, []))
    workers = printed(row.get("# Workers", ""))
    if workers is not None and workers.value > 0:
        asked["threads"] = round(workers.value)
    # Not printed: what was counted over its rate.
    every = math.fsum(m.base("iops") or 0.0 for m in sides.values())
    busy = printed(row.get("% CPU Utilization", ""), "%", Dimension.SHARE)
    return ImportedCell(
        name=name[:256] or "ALL", line=n, asked=asked, incomplete=why, sides=sides,
        total=whole(sides) if len(sides) > 1 else None, cpu={} if busy is None else {"busy": busy},
        seconds=math.fsum(m.base("ios") or 0.0 for m in sides.values()) / every if every else None,
        errors=_count(row, "Errors"),
    )  # fmt: skip


def _side(row: Mapping[str, str], side: str) -> Measured | None:
    """Of one direction; None where it did nothing."""
    ios = _count(row, f"{side} I/Os")
    iops = printed(row.get(f"{side} IOps", ""))
    if not ios or iops is None:
        return None
    mib = row.get(f"{side} MiBps (Binary)") or row.get(f"{side} MBps (Binary)") or row.get(f"{side} MBps") or ""
    moved = _count(row, "Bytes Read" if side == "Read" else "Bytes Written")
    figures = {
        "ios": exact(ios), "iops": iops, "rate": printed(mib, "MiB/s", Dimension.RATE),
        "bytes": None if moved is None else exact(moved, Dimension.BYTES),
        "time.mean": printed(row.get(f"Average {side} Response Time", ""), "ms", Dimension.TIME),
        "time.max": printed(row.get(f"Maximum {side} Response Time", ""), "ms", Dimension.TIME),
    }  # fmt: skip
    return Measured(
        figures={key: value for key, value in figures.items() if value is not None},
        errors=_count(row, f"{side} Errors"),
    )


def _asked(lines: list[list[str]]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Of an access specification with one line, in which all is random or nothing is."""
    if len(lines) != 1 or len(lines[0]) < 7 or not all(word.isdecimal() and len(word) < 12 for word in lines[0][:7]):
        return {}, ("its access specification is not in the file, or has several lines",) if len(lines) != 1 else ()
    size, _, reads, random, delay, burst, align = map(int, lines[0][:7])
    if random not in (0, 100) or delay or burst != 1 or align not in (0, size):
        return {"bs": size}, ("its access specification is partly random, delayed or aligned to something else",)
    kind = {0: "write", 100: "read"}.get(reads, "rw")
    mix = {"rwmixread": reads} if kind == "rw" else {}
    # Iometer bypasses the cache of the system.
    return {"bs": size, "rw": ("rand" if random else "") + kind, "direct": True, **mix}, ()


def _count(row: Mapping[str, str], column: str) -> int | None:
    text = row.get(column, "")
    return int(text) if text.isdecimal() and len(text) < 20 else None
