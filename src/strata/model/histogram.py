"""Latency distributions. The payload is HdrHistogram V2 (uncompressed) in base64, values in nanoseconds.

This is one of the three places that may open the compiled extension: decoding stays in one implementation.
Payloads come from stores too, where anybody may have changed them: `RunFailed` where one cannot be read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from strata import _core
from strata.errors import RunFailed
from strata.model.base import Value


class Spread(Value):
    """How far the values of a distribution lie apart, in ns: its ends and its standard deviation."""

    min_ns: float
    max_ns: float
    sd_ns: float


def _read(ask: Callable[..., Any], *given: Any) -> Any:
    try:
        return ask(*given)
    except ValueError as e:
        why, hint = str(e), "measure again; of a store: restore it from a backup"
        raise RunFailed("cannot read a distribution of times", "", why, hint) from e


def decode(payload: str) -> tuple[list[int], list[int]]:
    """(upper edge of each non-empty bucket in ns, count), ascending."""
    values, counts = _read(_core.hist_decode, payload)
    return values, counts


def merge(payloads: Iterable[str | None]) -> str | None:
    """The exact sum of several histograms; None when there is none."""
    present = [p for p in payloads if p is not None]
    return _read(_core.hist_merge, present) if present else None


def from_bins(bins: Mapping[int, int]) -> str:
    """Counts by value in ns (another tool's buckets, each at the value that stands for it) as a payload of ours."""
    return _core.hist_from_bins(list(bins), list(bins.values()))


def quantiles(payload: str, qs: Sequence[float]) -> list[int]:
    """Values in ns at the given quantiles (0..1); each is the upper edge of its bucket (error ≤ 0.1 %)."""
    found: list[int] = _read(_core.hist_quantiles, payload, list(qs))
    return found


def spread(payload: str) -> Spread:
    """Of all recorded values; known to a bucket's width (0.1 %)."""
    found = json.loads(_read(_core.hist_summary, payload))
    return Spread(min_ns=found["min"], max_ns=found["max"], sd_ns=found["stddev"])


def total(payload: str) -> int:
    """How many values were recorded."""
    return int(json.loads(_read(_core.hist_summary, payload))["count"])
