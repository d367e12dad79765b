"""What several clients measured at once: the time that all overlap, their sum, and how alike they were."""

from __future__ import annotations

from strata.model.clients.merge import clients_of, merged, pooled
from strata.model.clients.outliers import outliers
from strata.model.clients.overlap import EDGE
from strata.model.clients.values import Clients, Done, Evenness, OneClient, Outlier, Skew, Together
from strata.model.peers import FALSE_ALARM

__all__ = [
    "EDGE",
    "FALSE_ALARM",
    "Clients",
    "Done",
    "Evenness",
    "OneClient",
    "Outlier",
    "Skew",
    "Together",
    "clients_of",
    "merged",
    "outliers",
    "pooled",
]
