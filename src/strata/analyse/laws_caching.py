"""Caching and durability: what was asked for against what was in force."""

from __future__ import annotations

from strata.analyse.rounds import CellRounds
from strata.model.analysis import Check, CheckKind


def caching(cell: CellRounds) -> Check | None:
    """A cold cache that was not cold, a warm one that was not warm, a flag that was not in force.

    The figures are kept and coloured: they hold for another state than the one in their name.
    """
    states = [r.result.caching for r in cell.results if r.result is not None and r.result.caching is not None]
    departing = [s for s in states if s.departures]
    if not departing:
        return None
    text = "; ".join(departing[0].departures)
    if len(states) > 1:
        text = f"in {len(departing)} of {len(states)} rounds, such as: {text}"
    return Check(
        kind=CheckKind.CACHING, layer=cell.layer, workload_key=cell.workload.key, impossible=False, message=text
    )
