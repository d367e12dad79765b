"""How one series is named where a cell's counters are kept: ``cpu_seconds{cpu=all,mode=user}``.

The only place that writes such a name or takes one apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import unquote


def stored_name(metric: str, labels: Mapping[str, str]) -> str:
    """What would end a label stands as its percent code."""
    return _written(metric, tuple(labels.items()))


@lru_cache(maxsize=1 << 14)
def _written(metric: str, labels: tuple[tuple[str, str], ...]) -> str:
    """Asked for every series of every measurement, and the same ones come again."""
    parts = ",".join(f"{k}={_quoted(v)}" for k, v in sorted(labels))
    return f"{metric}{{{parts}}}" if parts else metric


@lru_cache(maxsize=1 << 14)
def taken_apart(name: str) -> tuple[str, Mapping[str, str]]:
    """Metric and labels back from `stored_name`."""
    metric, _, rest = name.removesuffix("}").partition("{")
    pairs = (part.split("=", 1) for part in rest.split(",") if "=" in part)
    return metric, MappingProxyType({key: unquote(value) for key, value in pairs})


def _quoted(value: str) -> str:
    return value.replace("%", "%25").replace(",", "%2C").replace("}", "%7D")
