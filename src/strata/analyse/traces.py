"""The traces of a run, put beside the cells they belong to."""

from __future__ import annotations

from collections.abc import Iterable

from strata.model.analysis import Analysis
from strata.model.result import CellResult


def with_traces(analysis: Analysis, results: Iterable[CellResult]) -> Analysis:
    """The same analysis; a cell that was traced again later has its last traces."""
    traces = {(r.layer, r.workload_key): r.traces for r in results if r.traces}
    if not traces:
        return analysis
    cells = tuple(c.model_copy(update={"traces": traces.get((c.layer, c.workload.key), ())}) for c in analysis.cells)
    return analysis.model_copy(update={"cells": cells})
