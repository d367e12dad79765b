"""The short form of a trace: what stands beside a measurement."""

from __future__ import annotations

from collections.abc import Sequence

from strata import units
from strata.model.trace import OrderSummary, TraceSummary
from strata.report import figures
from strata.report.textual import field

_LABEL = 12
_SOME = 0.01
"""Fewer requests per I/O than this are others'."""


def summary_lines(traces: Sequence[TraceSummary], width: int) -> list[str]:
    """A line or two for each device, in at most ``width`` columns."""
    out: list[str] = []
    for t in traces:
        parts = [
            *(_direction("reads", t.read) if t.read.requests else ()),
            *(_direction("writes", t.write) if t.write.requests else ()),
        ]
        if t.requests_per_io is not None and t.requests_per_io >= _SOME:
            parts.append(f"{units.significant(t.requests_per_io)} requests per I/O")
        if t.mean_depth is not None:
            parts.append(f"depth {units.significant(t.mean_depth, 2)}")
        if t.dispatchers is not None:
            parts.append(f"{units.significant(t.dispatchers, 2)} issuing threads in 16 requests")
        told = "" if t.whole else " (events were lost: figures cover the recorded ones)"
        role = "" if t.role == "device" else f", {t.role}"
        out += field("trace", f"{t.device}{role}: {'; '.join(parts) or 'no requests'}{told}", width, column=_LABEL)
    return out


def _direction(name: str, o: OrderSummary) -> list[str]:
    if o.strict_share is None:
        return [f"{name} too few to judge their order"]
    late = ""
    if o.reordered_share is not None and o.reordered_share >= _SOME / 10:
        late = f", {figures.percent(o.reordered_share)} out of order by up to {figures.plural(o.max_extent, 'I/O')}"
    return [f"{name} {figures.percent(o.strict_share)} strictly sequential{late}"]
