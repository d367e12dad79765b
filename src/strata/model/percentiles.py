"""Which percentiles are given, and what a hidden one needs: the one rule that every output asks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

PERCENTILES = ("50", "90", "95", "99", "99.9", "99.99")
SHOWN_PERCENTILES = ("50", "90", "99")
"""What tables have a column for, and comparisons compare."""
BEYOND = 100
"""I/Os that must lie beyond a percentile before it is given: fewer and it is a few single events."""


@lru_cache(maxsize=64)
def needed(percentile: str) -> int:
    """The fewest I/Os of which `BEYOND` lie beyond it: 10 000 for "99"."""
    return math.ceil(Decimal(BEYOND * 100) / (100 - Decimal(percentile)))


def supported(percentiles: Sequence[str], ios: int) -> tuple[str, ...]:
    """Those that ``ios`` I/Os carry."""
    return tuple(p for p in percentiles if ios >= needed(p))
