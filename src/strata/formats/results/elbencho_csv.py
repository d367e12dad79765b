"""elbencho's results as CSV (``--csvfile``).

A run appends its phases, with heads again where the file was begun anew; a cell that is blank was not measured. Nothing
is quoted: labels and command lines have no commas, and the command has quotes of its own.
"""

from __future__ import annotations

from strata.formats.results import _elbencho
from strata.formats.results.source import CELLS_MOST, Source, begins, room, row_of
from strata.model.figures import Dimension, Figure
from strata.model.imported import Imported, ImportedCell

NAME, TITLE, ORDER = "elbencho-csv", "elbencho's CSV (--csvfile)", 34


def recognise(head: str) -> bool:
    return begins(head, r"^(?:[^\n,]{1,40},){0,20}operation,time ms \[first\],time ms \[last\],")


def read(source: Source) -> Imported:
    """One cell for each phase that moved data."""
    cells: list[ImportedCell] = []
    columns: list[str] = []
    left, commands = dict.fromkeys([_elbencho.LEFT_OUT]), set[str]()
    version = ""
    for n, line in enumerate(source.lines(), 1):
        fields = line.split(",")
        if "operation" in fields and "time ms [last]" in fields:
            columns = fields
            continue
        if not line.strip() or not columns:
            continue
        row = {head.strip(): value.strip() for head, value in row_of(columns, fields, n).items()}
        cell = _elbencho.cell_of(
            row["operation"], row, {"": _figures(row, ""), "rwmix": _figures(row, "rwmix read ")}, n
        )
        if cell is None:
            left[f"phase {row['operation'][:40]}: it counts entries, not I/Os"] = None
            continue
        room(cells, CELLS_MOST, "phases", n)
        cells.append(cell)
        version = row.get("version", "")[:40]
        commands.add(row.get("command", ""))
    return Imported(
        format=NAME, tool="elbencho", version=version, cells=tuple(cells), left_out=tuple(left)[:20],
        command=commands.pop()[:4096] if len(commands) == 1 else "",
        notes=("MiB are 2^20 bytes; rates and times are whole numbers, cut off",),
    )  # fmt: skip


def _figures(row: dict[str, str], of: str) -> dict[str, Figure | None]:
    return {
        "iops": _elbencho.cut(row.get(f"{of}IOPS [last]")),
        "rate": _elbencho.cut(row.get(f"{of}MiB/s [last]"), "MiB/s", Dimension.RATE),
        "bytes": _elbencho.cut(row.get(f"{of}MiB [last]"), "MiB", Dimension.BYTES),
        **_elbencho.times_of(*(row.get(f"{of}IO lat us [{word}]") for word in ("min", "avg", "max"))),
    }
