"""The parts of a history in words, shared by the terminal and the page."""

from __future__ import annotations

from strata import units
from strata.model.history import CellHistory
from strata.report import figures

HEAD = ("run", "made (UTC)", "IOPS", "step", "p50", "p99", "")
NUMERIC = frozenset({2, 3, 4, 5})
ENOUGH = 6
"""Fewer runs and no change of level could be seen."""


def rows(cell: CellHistory) -> list[tuple[str, ...]]:
    """One for each run as `HEAD` heads them, the oldest first. No two runs of different moments have one date."""
    starts = {c.index for c in cell.changes}
    made = figures.moments([p.created_unix_ns for p in cell.points])
    found: list[tuple[str, ...]] = []
    for i, p in enumerate(cell.points):
        step = figures.signed_percent(p.iops / cell.points[i - 1].iops - 1) if i else ""
        p50, p99 = ("–" if x is None else units.duration(x) for x in (p.p50_ns, p.p99_ns))
        found.append((p.run, made[i], units.count(p.iops), step, p50, p99, "new level" if i in starts else ""))
    return found


def sums(cell: CellHistory) -> str:
    """How many runs, and what those of one level differ by."""
    noise = "" if cell.noise is None else f", runs at one level vary by {figures.percent(cell.noise)}"
    return f"{figures.plural(len(cell.points), 'run')}{noise}"


def unchanged(cell: CellHistory) -> str:
    """What is said of a cell without a change."""
    if len(cell.points) >= ENOUGH:
        return "no change of level"
    return "a change can be detected from six runs on"
