"""A remote end that stores nothing.

What it changes
    The same reads go to Strata's own server on the remote node, which answers at once without storage. The path is the
    same.
What it tells apart
    If the path or the client is the limit, the IOPS stay the same: what is saturated stays saturated, and each request
    still waits the same time on the path. The time of the server and its medium is gone.
"""

from __future__ import annotations

from strata.diagnose.case import Case, Station
from strata.diagnose.expected import MOST, Range, asked, at_once, random_read, told
from strata.diagnose.opinion import Opinion
from strata.diagnose.sides import CauseSide, on
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.experiment import Condition, Experiment, Prediction
from strata.model.stack import Stack

SIDES = ("path", "far")

GONE = 1.4
"""Times the IOPS at least, where the far end was what limits."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """At a remote layer whose far node is a namespace of this machine, where one cause of either side stands."""
    kinds = {o.cause for o in standing}
    if not kinds & on(CauseSide.PATH) or not kinds & on(CauseSide.FAR):
        return None
    opinion = next(o for o in standing if o.cause in on(CauseSide.PATH))
    station = case.station(opinion.layer)
    if station is None or not far_node_is_here(case.stack, station):
        return None
    cell = random_read(station, opinion)
    if cell is None:
        return None
    return asked(
        cell,
        "the same reads from a remote end that stores nothing",
        expected_of(standing, cell),
        condition=Condition.NULL_END,
        otherwise="with a limit in the server or its medium the IOPS rise",
    )


def expected_of(standing: tuple[Opinion, ...], cell: CellSummary) -> tuple[Prediction, ...]:
    """What causes of both sides expect where the far end answers at once.

    To keep the IOPS although the store is gone is no idle prediction: a store that limits would not.
    """
    path = on(CauseSide.PATH)
    return tuple(p.model_copy(update={"idle": p.idle and p.cause not in path}) for p in _told(standing, cell))


def _told(standing: tuple[Opinion, ...], cell: CellSummary) -> tuple[Prediction, ...]:
    said: dict[Cause, Range] = dict.fromkeys(on(CauseSide.FAR), (GONE, MOST))
    for opinion in standing:
        if opinion.cause in on(CauseSide.PATH) and (left := at_once(opinion, cell)) is not None:
            said[opinion.cause] = left
        elif opinion.cause is Cause.PROCESSORS:
            # Our server needs them too, and less.
            said[opinion.cause] = (0.8, MOST)
    return told(standing, said, others=None)


def far_node_is_here(stack: Stack, station: Station) -> bool:
    """Whether there is another node that is a namespace of this machine: a server of ours can only be started there."""
    here = next((n.netns for n in stack.nodes if n.name == station.layer.node), None)
    return station.layer.target.remote and any(n.netns not in (None, here) for n in stack.nodes)
