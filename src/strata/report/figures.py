"""Estimates and amounts as people read them. The scaling itself is done in `strata.units`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

from strata import units
from strata.model.estimate import Estimate

WIDE = 0.1
"""From this half-width on, as a share of the value, an interval is told by its two ends: it is made on logarithms, the
ends are not alike any more, and one ± for both would end in zero, or below, where no rate or time can be."""


def _ratio_decimals(value: float) -> int:
    """Two decimals, three where two would leave a single digit (0.047)."""
    return 3 if 0 < abs(value) < 0.1 else 2


def ratio(estimate: Estimate) -> str:
    """``1.02``, ``0.047``."""
    return f"{estimate.value:.{_ratio_decimals(estimate.value)}f}"


def ratio_error(estimate: Estimate) -> str:
    """``.31–.68``: the two ends, rounded apart so that they never claim more than was measured; empty without them.

    A ratio's interval is made on logarithms: it is not ± anything.
    """
    if estimate.low is None or estimate.high is None:
        return ""
    decimals = _ratio_decimals(estimate.value)
    scale = 10**decimals
    ends = math.floor(estimate.low * scale + 1e-9) / scale, math.ceil(estimate.high * scale - 1e-9) / scale
    return "–".join(f"{end:.{decimals}f}".removeprefix("0") for end in ends)


def share_error(estimate: Estimate) -> str:
    """``±1.2 %``: half the interval as a share of the value; ``−62…+163 %`` from `WIDE` on; empty without one."""
    half = estimate.half_width
    if half is None or estimate.low is None or estimate.high is None or estimate.value == 0:
        return ""
    size = abs(estimate.value)
    if half / size < WIDE:
        return f"±{percent(half / size)}"
    low, high = (signed_percent((end - estimate.value) / size) for end in (estimate.low, estimate.high))
    return f"{low.removesuffix(' %')}…{high}"


def signed_percent(share: float) -> str:
    """``+3.1 %``, ``−12 %``, with a real minus sign."""
    return f"{'−' if share < 0 else '+'}{percent(abs(share))}"


def percent(share: float) -> str:
    """``0.4 %``, ``12 %``: one decimal below ten percent."""
    value = share * 100
    return f"{value:.1f} %" if abs(value) < 9.95 else f"{value:.0f} %"


def signed_duration(ns: float) -> str:
    """``+41.2 µs``, ``−3.10 µs``, with a real minus sign."""
    return f"{'−' if ns < 0 else '+'}{units.duration(abs(ns))}"


def amount(value: float, unit: str) -> str:
    """A value in its unit, scaled for people: knows ns, bytes per second, shares and ratios; the rest is counted."""
    if unit == "ns":
        return units.duration(value) if value >= 0 else signed_duration(value)
    if unit in ("B/s", "bytes/s"):
        return units.rate(value)
    if unit == "share":
        return percent(value)
    if unit in ("ratio", "1"):
        return f"{value:.{_ratio_decimals(value)}f}"
    return f"{units.count(value)} {unit}"


def measured(estimate: Estimate) -> str:
    """``815 IOPS ±1.2 %``; only the value where there is no interval."""
    return f"{amount(estimate.value, estimate.unit)} {share_error(estimate)}".rstrip()


def interval(estimate: Estimate) -> str:
    """``815 IOPS (760–870 IOPS)``; only the value where there is no interval."""
    text = amount(estimate.value, estimate.unit)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({units.span(amount(estimate.low, estimate.unit), amount(estimate.high, estimate.unit))})"


def utc(unix_ns: int) -> str:
    """``2026-03-14 09:26 UTC``; one zone everywhere, so that two reports can be laid side by side."""
    return datetime.fromtimestamp(unix_ns / units.NS_PER_S, UTC).strftime("%Y-%m-%d %H:%M UTC")


def moments(unix_ns: Sequence[int]) -> list[str]:
    """``2026-03-14 09:26`` for each, in UTC; with seconds where two would be called the same, and finer if need be."""
    at = [datetime.fromtimestamp(ns / units.NS_PER_S, UTC) for ns in unix_ns]
    apart = len(set(unix_ns))
    for form in ("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"):
        said = [one.strftime(form) for one in at]
        if len(set(said)) == apart:
            return said
    return [one.strftime("%Y-%m-%d %H:%M:%S.%f") for one in at]


plural = units.plural
