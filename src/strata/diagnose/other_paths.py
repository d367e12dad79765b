"""Other ways to the same data that the stack knows: the same kind of path from another node, or to another address."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from strata.diagnose.case import Case, Station
from strata.diagnose.expected import MOST, Range, asked, station_of, told
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


def asked_there(
    case: Case,
    standing: tuple[Opinion, ...],
    about: frozenset[Cause],
    alike: Callable[[Layer, Layer], bool],
    said: dict[Cause, Range],
    why: str,
    node_owns: bool = False,
) -> Experiment | None:
    """The same reads on another way, beside the one that one of these causes blames, where both were measured.

    ``alike``: whether a layer is another way to what the blamed one reaches; of these causes the other way gains.
    """
    found = station_of(case, standing, about)
    if found is None:
        return None
    opinion, station = found
    other = other_way(case, station, lambda one: alike(one, station.layer), node_owns)
    cell = None if other is None else _slowest_read(station, opinion, other)
    if other is None or cell is None:
        return None
    gains: dict[Cause, Range] = dict.fromkeys(about, (GAIN, MOST))
    return asked(
        cell,
        f"the same reads on {other.layer.name}",
        told(standing, said | gains),
        layer=other.layer.name,
        reference_layer=station.layer.name,
        otherwise=why,
    )


def _slowest_read(station: Station, opinion: Opinion, other: Station) -> CellSummary | None:
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
