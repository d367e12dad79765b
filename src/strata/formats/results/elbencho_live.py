"""elbencho's live statistics as CSV (``--livecsv``), with and without ``ISO Date`` (since 3.1).

A row is what was done since the one before it; bytes and run time are since the phase began, and the last row is not
its end. Rows of single workers (``--livecsvex``) are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from strata import units
from strata.formats.results import _elbencho
from strata.formats.results._measured import count, counted, whole
from strata.formats.results._sysstat import moment_of, ns_of
from strata.formats.results.source import CELLS_MOST, Misread, Source, begins, room, row_of
from strata.model.imported import Imported, ImportedCell, ImportedInterval, Measured

NAME, TITLE, ORDER = "elbencho-live", "elbencho's live CSV (--livecsv)", 36

_HEAD = "Phase,RuntimeMS,Rank,MixType,"
ROWS_MOST = 1_000_000
_MS = units.NS_PER_S // 1000


def recognise(head: str) -> bool:
    return begins(head, rf"^(?:ISO Date,)?(?:Label,)?{_HEAD}")


@dataclass
class _Phase:
    """``points``: by the end of the interval in ms the figures by direction; ``moved``: bytes so far by direction."""

    name: str
    label: str
    line: int
    began: str
    points: dict[int, dict[str, dict[str, float]]] = field(default_factory=dict)
    moved: dict[str, int] = field(default_factory=dict)


def read(source: Source) -> Imported:
    """One cell for each phase that moved data, with its course."""
    phases: list[_Phase] = []
    columns: list[str] = []
    left: dict[str, None] = {"what was done after the last row of a phase": None}
    for n, line in enumerate(source.lines(), 1):
        if _HEAD in line:
            columns = line.split(",")
            continue
        if not line.strip() or not columns:
            continue
        if n > ROWS_MOST:
            raise Misread(f"more than {ROWS_MOST} rows", n)
        row = row_of(columns, line.split(","), n)
        if row["Rank"] != "Total":
            left["rows of single workers"] = None
            continue
        side = row["MixType"].lower() or _elbencho.side_of(row["Phase"])
        if side not in ("read", "write"):
            left[f"phase {row['Phase'][:40]}: it counts entries, not I/Os"] = None
            continue
        at = count(row["RuntimeMS"])
        if not phases or _is_new(phases[-1], row, at, side):
            room(phases, CELLS_MOST, "phases", n)
            phases.append(_Phase(row["Phase"], row.get("Label", ""), n, row.get("ISO Date", "")))
        _add(phases[-1], row, at, side)
    cells = tuple(cell for phase in phases if (cell := _cell(phase)) is not None)
    return Imported(
        format=NAME, tool="elbencho", cells=cells, left_out=tuple(left)[:20],
        notes=("live statistics say neither block size nor depth; MiB are 2^20 bytes",),
    )  # fmt: skip


def _is_new(phase: _Phase, row: dict[str, str], at: int, side: str) -> bool:
    """Whether a row begins another phase: by its name, or because its time goes back."""
    last = max(phase.points, default=0)
    return (
        (phase.name, phase.label) != (row["Phase"], row.get("Label", ""))
        or at < last
        or (at == last and side in phase.points[last])
    )


def _add(phase: _Phase, row: dict[str, str], at: int, side: str) -> None:
    figures = {"iops": float(count(row["IOPS"])), "rate": float(count(row["MiB/s"]) * units.MIB)}
    if row.get("Lat IO us") and (mean := count(row["Lat IO us"])):
        figures["time.mean"] = mean * 1000.0
    phase.points.setdefault(at, {})[side] = figures
    phase.moved[side] = count(row["DoneBytes"])


def _cell(phase: _Phase) -> ImportedCell | None:
    ends = sorted(phase.points)
    seconds = ends[-1] / 1000
    sides = {name: Measured(figures=counted(None, moved, seconds)) for name, moved in phase.moved.items() if moved}
    if not sides:
        return None
    began = moment_of(phase.began) if phase.began else None
    return ImportedCell(
        name=f"{phase.label[:200]} {phase.name[:40]}".strip(), line=phase.line,
        words={"target": phase.label[:256]} if phase.label else {}, seconds=seconds or None, sides=sides,
        total=whole(sides) if len(sides) > 1 else None,
        points=tuple(
            ImportedInterval(start_ns=start * _MS, end_ns=end * _MS, sides=phase.points[end])
            for start, end in zip([0, *ends], ends, strict=False)
        ),
        started_unix_ns=None if began is None else max(0, ns_of(began) - ends[0] * _MS),
    )  # fmt: skip
