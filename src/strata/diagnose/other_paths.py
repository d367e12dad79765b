"""Other ways to the same data that the stack knows: the same kind of path from another node, or to another address."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from strata.diagnose.case import Case, Station
from strata.diagnose.expected import Range, asked, told
from strata.diagnose.opinion import Opinion
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.experiment import Experiment
from strata.model.stack import Layer

GAIN = 1.2
"""Times the IOPS at least, where the other way is what helps."""


def host(layer: Layer) -> str | None:
    """Where its connections lead."""
    return urlsplit(layer.target.uri).hostname if layer.target.remote else None


def other_way(case: Case, station: Station, alike: Callable[[Layer], bool], node_owns: bool = False) -> Station | None:
    """A measured layer of the same kind for which ``alike`` holds; of several an owner's before others."""
    owners = {n.name for n in case.stack.nodes if n.owner}
    kind = station.layer.target.kind
    found = [s for s in case.stations if s is not station and s.layer.target.kind is kind and alike(s.layer)]
    return min(found, key=lambda s: node_owns and s.layer.node not in owners, default=None)


def slowest_read(station: Station, opinion: Opinion, other: Station) -> CellSummary | None:
    """Of the reads that the cause explains and that were measured on both ways, the one that keeps least."""
    both = [
        (c.iops.value / there.iops.value, c)
        for c in station.cells
        if c.workload.saturates
        and c.workload.key in opinion.cells
        and not c.workload.rw.writes
        and (there := other.cell(c.workload.key)) is not None
    ]
    return min(both, key=lambda one: one[0], default=(0.0, None))[1]


def over(
    station: Station,
    other: Station,
    cell: CellSummary,
    standing: tuple[Opinion, ...],
    said: dict[Cause, Range],
    why: str,
) -> Experiment | None:
    """The same workload on the other way, beside the one that is blamed."""
    return asked(
        other.layer.name,
        cell.workload,
        cell.workload,
        f"the same reads on {other.layer.name}",
        told(standing, said),
        reference_layer=station.layer.name,
        otherwise=why,
    )
