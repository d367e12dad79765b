"""A matrix of cells, each visited briefly and often: what its visits say, what its neighbours say, where to go next."""

from __future__ import annotations

from strata.analyse.matrix.next import VisitRequest, seen_once, visit_requests, visit_seconds
from strata.analyse.matrix.starts import Spot
from strata.analyse.matrix.table import Filled, Theta, table_of
from strata.analyse.visit import Visit, visit_from, visit_of

__all__ = [
    "Filled",
    "Spot",
    "Theta",
    "Visit",
    "VisitRequest",
    "seen_once",
    "table_of",
    "visit_from",
    "visit_of",
    "visit_requests",
    "visit_seconds",
]  # fmt: skip
