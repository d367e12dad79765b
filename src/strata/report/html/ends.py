"""What the section of both ends places: splits, flows, cycles, and what is to be said of them."""

from __future__ import annotations

from dataclasses import dataclass

from strata.model.analysis import CellSummary
from strata.model.ends import LatencySplit
from strata.model.run import Report

SHOWN_PERCENTILES = ("50", "90", "99")
SHOWN = 12
"""Notes beyond that repeat themselves."""


@dataclass(frozen=True)
class EndsSection:
    """Cells in the run's order; ``notes`` name their cell."""

    splits: tuple[tuple[CellSummary, LatencySplit], ...]
    percentiles: tuple[str, ...]
    flows: tuple[CellSummary, ...]
    cycles: tuple[CellSummary, ...]
    sources: tuple[str, ...]
    notes: tuple[str, ...]
    absent: tuple[str, ...]


def section(report: Report) -> EndsSection | None:
    """None where no cell has anything to show."""
    cells = report.analysis.cells
    splits = tuple((c, split) for c in cells for split in c.splits)
    told: dict[str, list[str]] = {}
    for cell in cells:
        for note in (*cell.notes, *(n for split in cell.splits for n in split.notes)):
            told.setdefault(note, []).append(f"{cell.layer}, {cell.workload.label}")
    notes = tuple(f"{note} ({_places(places)})" for note, places in list(told.items())[:SHOWN])
    found = EndsSection(
        splits=splits,
        percentiles=tuple(p for p in SHOWN_PERCENTILES if any(p in _known(split) for _, split in splits)),
        flows=tuple(c for c in cells if c.flows),
        cycles=tuple(c for c in cells if c.cycles),
        sources=tuple(dict.fromkeys(cost.source for c in cells for cost in c.cycles)),
        notes=notes,
        absent=tuple(dict.fromkeys(why for c in cells for why in c.absent)),
    )
    return found if splits or found.flows or found.cycles else None


def _known(split: LatencySplit) -> set[str]:
    return {p.percentile for p in split.percentiles}


def _places(places: list[str]) -> str:
    return places[0] if len(places) == 1 else f"{places[0]} and {len(places) - 1} more"
