"""vdbench's flat file (flatfile.html), of block devices (sd/wd) and of file systems (fsd/fwd).

Columns differ by version and kind, and are read by their heads; ``n/a`` and ``NaN`` are absent. Numbers have four
places, with their last zeros cut off.
"""

from __future__ import annotations

import re

from strata.formats.results import _vdbench
from strata.formats.results._measured import unix_ns
from strata.formats.results.source import CELLS_MOST, Source, begins, room, row_of
from strata.model.imported import Imported, ImportedCell

NAME, TITLE, ORDER = "vdbench-flat", "vdbench's flatfile.html", 42

_HEAD = r"^\s*tod\s+(?:timestamp\s+)?Run\s+Interval\s"
_STEP = 1e-4
_WHEN = re.compile(r"(\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d)-(\S{1,8})")


def recognise(head: str) -> bool:
    return begins(head, _HEAD)


def read(source: Source) -> Imported:
    """One cell for each run that has an average."""
    cells: list[ImportedCell] = []
    columns: list[str] = []
    zones: set[str] = set()
    left: dict[str, None] = {}
    run: _vdbench.VdbenchRun | None = None
    for n, line in enumerate(source.lines(), 1):
        if re.match(_HEAD, line) is not None:
            columns, run = line.lower().split(), None
            continue
        fields = line.split()
        if not columns or not fields or fields[0].startswith("*") or (len(fields) > 1 and fields[1].startswith("*")):
            continue
        if not fields[0][:1].isdigit() or len(fields) < 4:
            continue
        at_end = fields[0].count(":") == 2 and "_" not in fields[1] and "/" not in fields[1]
        if len(fields) != len(columns) and at_end:
            continue
        row = row_of(columns, fields, n)
        if run is None or run.name != row["run"] or _again(run, row["interval"]):
            run = _vdbench.VdbenchRun(row["run"], *_vdbench.asked_of(row))
            if (when := _WHEN.fullmatch(row.get("timestamp", ""))) is not None:
                zones.add(when[2])
                run.began_unix_ns = unix_ns(when[1], "%m/%d/%Y-%H:%M:%S")
        cell = _vdbench.add(run, row["interval"], row["tod"], row, _STEP, n)
        if row["interval"].startswith("avg"):
            run = None
            if cell is None:
                left[f"run {row['run'][:40]}: its average covers no samples"] = None
        if cell is not None:
            room(cells, CELLS_MOST, "runs", n)
            cells.append(cell)
    if run is not None:
        left[f"run {run.name[:40]}: it has no average, and was not finished"] = None
    notes = [*_vdbench.NOTES]
    if zones - {"UTC", "GMT"}:
        notes.append(f"its times are in {', '.join(sorted(zones))[:40]}, which names no offset: taken for UTC")
    return Imported(
        format=NAME, tool="vdbench", cells=tuple(cells), notes=tuple(notes), left_out=tuple(left)[:20],
    )  # fmt: skip


def _again(run: _vdbench.VdbenchRun, interval: str) -> bool:
    """Whether intervals begin anew: a run of the same name with other settings."""
    return interval.isdecimal() and len(interval) < 10 and int(interval) <= max(run.points, default=0)
