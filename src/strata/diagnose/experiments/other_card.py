"""The same workload over another network card.

What it changes
    It runs on the same kind of layer of the same node, whose connections use another address.
What it tells apart
    If the card is the wrong one, or other traffic saturates its wire, the other card is faster by a fifth or more. A
    limit behind both cards stays the same.
"""

from __future__ import annotations

from strata.diagnose import other_paths
from strata.diagnose.case import Case
from strata.diagnose.expected import MOST, SAME, Range, station_of
from strata.diagnose.opinion import Opinion
from strata.model.cause import Cause
from strata.model.experiment import Experiment

ABOUT = frozenset({Cause.WRONG_CARD, Cause.NOISY_WIRE})
MAYBE = (Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.WIRE_LOSS)
"""The other wire may have it too, or not."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where a card or its neighbour stands and a layer over another address was measured."""
    found = station_of(case, standing, ABOUT)
    if found is None:
        return None
    opinion, station = found
    here = other_paths.host(station.layer)
    other = other_paths.other_way(
        case, station, lambda one: one.node == station.layer.node and other_paths.host(one) not in (None, here)
    )
    cell = None if other is None else other_paths.slowest_read(station, opinion, other)
    if other is None or cell is None:
        return None
    said: dict[Cause, Range] = dict.fromkeys(MAYBE, (SAME[0], MOST)) | dict.fromkeys(ABOUT, (other_paths.GAIN, MOST))
    return other_paths.over(
        station, other, cell, standing, said, "with a limit behind both cards the IOPS stay the same"
    )
