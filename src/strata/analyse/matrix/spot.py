"""Where a cell of a table is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Spot:
    """``group`` is its layer and ``pattern`` its pattern, as numbers; ``size`` in bytes."""

    group: int
    pattern: int
    depth: int
    size: int
