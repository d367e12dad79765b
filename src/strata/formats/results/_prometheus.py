"""What Prometheus' formats have in common: a name and labels as one of our series, and the unit that a name states."""

from __future__ import annotations

from collections.abc import Mapping

from strata.formats.results._counters import Sampled
from strata.formats.results.source import Misread

NAMELESS = "query"
"""The metric of what a query calculated, which has no name."""
_UNITS = {
    "bytes": "B",
    "seconds": "s",
    "sectors": "sectors",
    "ratio": "",
    "percent": "%",
    "celsius": "°C",
    "hertz": "Hz",
}
_WHERE = ("instance", "job")
_TIMES_END_S = 9e9
"""The year 2255: ns of more do not fit in 63 bits."""
_AMONG = ("device", "disk", "cpu", "interface", "mountpoint")


def unit_of(name: str) -> str:
    """By the last words of a name, as its conventions have it; empty where it states none."""
    return _UNITS.get(name.removesuffix("_total").rpartition("_")[2], "")


def grows(name: str) -> bool:
    """Whether a metric is a counter, by the last word of its name."""
    return name.endswith(("_total", "_count", "_sum", "_bucket"))


def add(sampled: Sampled, labels: Mapping[str, str], unit: str | None, at_s: float, value: float) -> None:
    """Another sample; ``at_s`` since the epoch. Raises `Misread` for a time that is none."""
    if not 0 <= at_s < _TIMES_END_S:
        raise Misread(f"{str(at_s)[:40]} is not a time in seconds since 1970")
    name = labels.get("__name__", NAMELESS)[:256]
    own = {k: v for k, v in labels.items() if k not in ("__name__", *_WHERE)}
    only = next(iter(own.items())) if len(own) == 1 else ("", "")
    of = only[1] if only[0] in _AMONG else ",".join(f"{k}={v}" for k, v in sorted(own.items()))
    # Whole ns of what is printed in ms.
    at = max(0, round(at_s * 1000)) * 1_000_000
    sampled.add(name, unit_of(name) if unit is None else unit, of[:256], at, value)


def host_of(instances: set[str]) -> str:
    """The only one; empty where there are several."""
    return next(iter(instances)).rpartition(":")[0][:256] if len(instances) == 1 else ""
