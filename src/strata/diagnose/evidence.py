"""Observations as evidence: what was seen, and the cells in which it was."""

from __future__ import annotations

from collections.abc import Iterable

from strata.model.analysis import CellSummary
from strata.model.estimate import Estimate
from strata.model.finding import Evidence, EvidenceKind

Cells = Iterable[CellSummary | str]
"""Cells, or their names as the data has them."""


def operational(statement: str, cells: Cells = (), value: Estimate | None = None) -> Evidence:
    """What the layer or its counters show by themselves."""
    return _of(EvidenceKind.OPERATIONAL, statement, cells, value)


def differential(statement: str, cells: Cells = (), value: Estimate | None = None) -> Evidence:
    """What shows beside another layer, workload or run, or a specification."""
    return _of(EvidenceKind.DIFFERENTIAL, statement, cells, value)


def _of(kind: EvidenceKind, statement: str, cells: Cells, value: Estimate | None) -> Evidence:
    names = tuple(c if isinstance(c, str) else c.name for c in cells)
    return Evidence(kind=kind, statement=statement, cells=names, value=value)
