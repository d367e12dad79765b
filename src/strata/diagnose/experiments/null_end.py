"""A far end that stores nothing.

What it changes
    The same reads go to a server of our own on the far node, which answers at once with nothing. The way is the same.
What it tells apart
    Where the way or the client limits, the IOPS stay: what is full stays full, and what each request waits for on the
    way it still waits for. What the server or its medium takes is gone.
"""

from __future__ import annotations

from strata.diagnose.case import Case, Station
from strata.diagnose.expected import MOST, Range, asked, at_once, random_read, told
from strata.diagnose.opinion import Opinion
from strata.diagnose.sides import FAR, PATH
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.experiment import Condition, Experiment, Prediction
from strata.model.stack import Stack

GONE = 1.4
"""Times the IOPS at least, where the far end was what limits."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """At a remote layer whose far node is a namespace of this machine, where one cause of either side stands."""
    kinds = {o.cause for o in standing}
    if not kinds & PATH or not kinds & FAR:
        return None
    opinion = next(o for o in standing if o.cause in PATH)
    station = case.station(opinion.layer)
    if station is None or not _far_node_is_here(case.stack, station):
        return None
    cell = random_read(station, opinion)
    if cell is None:
        return None
    # To keep the IOPS although the store is gone is no idle prediction: a store that limits would not.
    predictions = tuple(p.model_copy(update={"idle": p.idle and p.cause not in PATH}) for p in _told(standing, cell))
    return asked(
        station.layer.name,
        cell.workload,
        cell.workload,
        "the same reads from a far end that stores nothing",
        predictions,
        condition=Condition.NULL_END,
        otherwise="without its store it would be faster",
    )


def _told(standing: tuple[Opinion, ...], cell: CellSummary) -> tuple[Prediction, ...]:
    said: dict[Cause, Range] = dict.fromkeys(FAR, (GONE, MOST))
    for opinion in standing:
        if opinion.cause in PATH and (left := at_once(opinion, cell)) is not None:
            said[opinion.cause] = left
        elif opinion.cause is Cause.PROCESSORS:
            # Our server needs them too, and less.
            said[opinion.cause] = (0.8, MOST)
    return told(standing, said, others=None)


def _far_node_is_here(stack: Stack, station: Station) -> bool:
    """Whether there is another node that is a namespace of this machine: a server of ours can only be started there."""
    here = next((n.netns for n in stack.nodes if n.name == station.layer.node), None)
    return station.layer.target.remote and any(n.netns not in (None, here) for n in stack.nodes)
