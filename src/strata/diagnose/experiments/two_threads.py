"""Two threads on the layer below.

What it changes
    The stream of a sequential workload is split between two threads, each of which takes every other block; as many
    requests are outstanding as before. It runs on the layer below the one that is blamed.
What it tells apart
    If reordering is the cause, the layer below becomes as slow as the layer itself, through the order alone. If it
    stays as it was, the order costs nothing there, and something else makes the device slower. Of what limits the
    stream above the device it says nothing by itself: that the device is busy longer for each I/O, or that the layer
    gives more elsewhere, has to exclude such a limit first. Otherwise the experiment can refute, and confirms nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from strata.diagnose.case import Case, Pair
from strata.diagnose.causes import reordering
from strata.diagnose.expected import Range, asked, told
from strata.diagnose.opinion import Opinion
from strata.diagnose.view import Point
from strata.model.access import Strided
from strata.model.cause import Cause
from strata.model.endpoint import EndpointKind
from strata.model.experiment import Experiment, Prediction
from strata.model.workload import ClosedLoop, Workload

ABOUT = frozenset({Cause.REORDERING})

SAME = (0.8, 1.3)
LEAST_PART, MOST_PART = 0.3, 3.0
"""Of the loss that reordering has to explain: what two threads of ours bring about, which deal less or more unevenly
than the layer's own dispatchers. At most all order is lost: a stream that relays had slowed to 0.65 fell to 0.17 by two
threads on a rotating medium."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where reordering stands, on the nearest layer below that may be driven in the workload's direction. Other layers
    over the same one that lose the order of the same stream are told by it, too."""
    blamed = {o.layer: o for o in standing if o.cause in ABOUT}
    for pair in (p for p in case.pairs if p.view.layer.name in blamed):
        others = None if blamed[pair.view.layer.name].alike else SAME
        found = [(extra, p) for p in pair.view.affected if (extra := reordering.excess(pair, p)) is not None]
        for extra, point in sorted(found, key=lambda one: -one[0]):
            if _drivable(pair, point.workload) and (dealt := _dealt(point.workload)) is not None:
                mine = told(standing, {Cause.REORDERING: _left(pair, point, extra)}, others=others)
                return asked(
                    point.lower,
                    f"two threads on {pair.view.below.name}",
                    (*mine, *_at_other_layers(case, pair, point, blamed)),
                    changed=dealt,
                )
    return None


def _left(pair: Pair, point: Point, extra: float) -> Range:
    """Of the IOPS of the layer below, by what the layer loses beyond random work."""
    return min(math.exp(-MOST_PART * extra), reordering.random_part(pair, point)), math.exp(-LEAST_PART * extra)


def _at_other_layers(case: Case, pair: Pair, point: Point, blamed: Collection[str]) -> Iterator[Prediction]:
    """Each by what it loses of that stream itself."""
    for other in case.pairs:
        name = other.view.layer.name
        if other.view.below.name != pair.view.below.name or name in blamed:
            continue
        same = next((p for p in other.view.affected if p.key == point.key), None)
        extra = None if same is None else reordering.excess(other, same)
        if same is not None and extra is not None:
            opinion = Opinion(None, layer=name, cause=Cause.REORDERING)
            yield from told((opinion,), {Cause.REORDERING: _left(other, same, extra)})


def _drivable(pair: Pair, workload: Workload) -> bool:
    """A raw device is only read."""
    return not workload.rw.writes or pair.view.below.target.kind is not EndpointKind.BLOCK


def _dealt(workload: Workload) -> Workload | None:
    if not isinstance(workload.arrival, ClosedLoop) or workload.threads > 1 or workload.arrival.iodepth < 2:
        return None
    arrival = workload.arrival.model_copy(update={"iodepth": workload.arrival.iodepth // 2})
    order = Strided(stride=2 * workload.bs, thread_offset=workload.bs)
    return workload.model_copy(update={"threads": 2, "arrival": arrival, "order": order})
