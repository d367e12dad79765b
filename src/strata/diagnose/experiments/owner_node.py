"""The same workload on the node that owns the data.

What it changes
    It runs on the same kind of layer on another node, on the owner where the stack says which node that is.
What it tells apart
    A redirected path is faster there by a fifth or more. A limit that both nodes share stays the same: the medium, its
    caps, the copies. A wire on the path from this node is not used there, so its causes agree with any result.
"""

from __future__ import annotations

from strata.diagnose import other_paths
from strata.diagnose.case import Case
from strata.diagnose.expected import MOST, SAME, Range, station_of
from strata.diagnose.opinion import Opinion
from strata.diagnose.sides import Side, on
from strata.model.cause import Cause
from strata.model.experiment import Experiment

ABOUT = frozenset({Cause.REDIRECTED})
OF_A_NODE = frozenset({Cause.PROCESSORS, Cause.QUOTA, Cause.SINGLE_THREAD, Cause.PER_REQUEST_COST})
"""Causes of which the other node may be free, as of those on the path: of its processors and servers."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where a redirected path stands and the same kind of layer was measured on another node."""
    found = station_of(case, standing, ABOUT)
    if found is None:
        return None
    opinion, station = found
    other = other_paths.other_way(case, station, lambda one: one.node != station.layer.node, node_owns=True)
    cell = None if other is None else other_paths.slowest_read(station, opinion, other)
    if other is None or cell is None:
        return None
    free = on(Side.PATH) | OF_A_NODE
    said: dict[Cause, Range] = dict.fromkeys(free, (SAME[0], MOST)) | {Cause.REDIRECTED: (other_paths.GAIN, MOST)}
    return other_paths.over(
        station, other, cell, standing, said, "with a limit that both nodes share the IOPS stay the same"
    )
