"""A distribution of times as the trace hands it over."""

from __future__ import annotations

from strata.model.base import Value


class Times(Value):
    """A distribution in ns; ``histogram`` is an HdrHistogram V2 payload in base64."""

    count: int
    mean_ns: float
    p50_ns: int
    p99_ns: int
    max_ns: int
    histogram: str
