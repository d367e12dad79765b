"""A line of the table: one layer of one stack under one workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from strata import units
from strata.model.estimate import Estimate


@dataclass(frozen=True)
class Round:
    """What one round of a cell showed. Times in ns; processor figures in cycles for each byte the application moved.

    ``sent``: bytes each node sent for each byte of the application, ``sent_by_all`` their sum.
    ``media``: bytes the modelled disks read and wrote for each; 0 where there are none.
    ``kernel_cycles``: the machine's kernel time, whoever caused it. ``path_cycles``: user and kernel time of the
    lab's processes, ``own_cycles`` of the load generator; the kernel's own threads are in neither.
    """

    iops: float
    p50_ns: float
    p99_ns: float
    sent: Mapping[str, float]
    sent_by_all: float
    media: float
    kernel_cycles: float
    path_cycles: float
    own_cycles: float
    samples: int
    others_busy: float


@dataclass(frozen=True)
class Row:
    """Estimates over the rounds of one cell, 95 % intervals.

    ``against``: IOPS by what the layer is held against. ``others_busy``: processors that the rest of the machine used.
    """

    stack: str
    layer: str
    node: str
    workload: str
    iops: Estimate
    p50: Estimate
    p99: Estimate
    sent: Mapping[str, Estimate]
    sent_by_all: Estimate
    media: Estimate
    kernel_cycles: Estimate
    path_cycles: Estimate
    others_busy: Estimate
    against: Mapping[str, Estimate]
    samples: int

    def as_json(self) -> dict[str, Any]:
        """Every field; estimates as value, low, high, n, unit."""
        return {k: _plain(v) for k, v in asdict(self).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Estimate):
        return value.model_dump()
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value


def table(rows: Sequence[Row]) -> str:
    """Markdown, one table for each stack and workload."""
    parts = []
    for key in dict.fromkeys((r.stack, r.workload) for r in rows):
        mine = [r for r in rows if (r.stack, r.workload) == key]
        heads = [
            "layer",
            "node",
            "IOPS",
            "against",
            "p50",
            "p99",
            "kernel c/B",
            "path c/B",
            "disks/app byte",
            "sent/app byte",
            "by node",
            "others",
        ]
        lines = [f"**{key[0]}** · {key[1]} · n = {mine[0].iops.n} rounds", ""]
        lines += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        for row in mine:
            cells = [row.layer, row.node, _of(row.iops, 0)]
            cells += ["<br>".join(f"{_of(e, 2)} × {name}" for name, e in row.against.items())]
            cells += [_time(row.p50), _time(row.p99), _of(row.kernel_cycles, 1), _of(row.path_cycles, 1)]
            cells += [_of(row.media, 2), _of(row.sent_by_all, 2), _nodes(row.sent), f"{row.others_busy.value:.1f}"]
            lines.append(f"| {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _nodes(sent: Mapping[str, Estimate]) -> str:
    # Below a hundredth it is the acknowledgements and what the servers tell each other.
    return ", ".join(f"{name} {e.value:.2f}" for name, e in sent.items() if e.value >= 0.01)


def _of(estimate: Estimate, digits: int) -> str:
    value = f"{estimate.value:,.{digits}f}".replace(",", " ")
    return value if estimate.half_width is None else f"{value} ±{estimate.half_width:,.{digits}f}".replace(",", " ")


def _time(estimate: Estimate) -> str:
    half = estimate.half_width
    return units.duration(estimate.value) + ("" if half is None else f" ±{units.duration(half)}")
