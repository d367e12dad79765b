"""Which steps of an interrupted run need not be run again."""

from __future__ import annotations

from collections.abc import Iterable

from strata.model.result import CellResult


def done_orders(results: Iterable[CellResult]) -> frozenset[int]:
    """Orders of the steps that were measured. Failed and cut-short ones are not among them: a resume is also the
    user's answer to what failed, and saving a step again replaces what was kept of it."""
    return frozenset(r.order for r in results if r.error is None and r.result is not None)
