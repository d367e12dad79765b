"""Experiments at another far end: the path is the same, and what is behind it answers at once."""

from __future__ import annotations

from collections.abc import Callable

from strata.diagnose.case import Case, Station
from strata.diagnose.expected import MOST, Range, asked, at_once, told
from strata.diagnose.opinion import Opinion
from strata.diagnose.sides import CauseSide, on
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.experiment import Condition, Experiment, Prediction
from strata.model.stack import Stack

GONE = 1.4
"""Times the IOPS at least, where the far end was what limits."""
Choose = Callable[[Station, Opinion], CellSummary | None]


def replaced(
    case: Case, standing: tuple[Opinion, ...], choose: Choose, changes: str, condition: Condition
) -> Experiment | None:
    """At a remote layer whose far node is a namespace of this machine, where one cause of either side stands;
    ``choose``: the cell there, of those that the cause on the path explains."""
    kinds = {o.cause for o in standing}
    if not kinds & on(CauseSide.PATH) or not kinds & on(CauseSide.FAR):
        return None
    opinion = next(o for o in standing if o.cause in on(CauseSide.PATH))
    station = case.station(opinion.layer)
    if station is None or not _far_node_is_here(case.stack, station):
        return None
    cell = choose(station, opinion)
    if cell is None:
        return None
    return asked(
        cell,
        changes,
        _expected(case, standing, cell),
        condition=condition,
        otherwise="with a limit in the server or its medium the IOPS rise",
    )


def _expected(case: Case, standing: tuple[Opinion, ...], cell: CellSummary) -> tuple[Prediction, ...]:
    """Of causes of both sides. To keep the IOPS although the store is gone is no idle prediction: a store that limits
    would not."""
    path = on(CauseSide.PATH)
    said: dict[Cause, Range] = dict.fromkeys(on(CauseSide.FAR), (GONE, MOST))
    for opinion in standing:
        if opinion.cause in path and (left := at_once(case, opinion, cell)) is not None:
            said[opinion.cause] = left
        elif opinion.cause is Cause.PROCESSORS:
            # Our server needs them too, and less.
            said[opinion.cause] = (0.8, MOST)
    found = told(standing, said, others=None)
    return tuple(p.model_copy(update={"idle": p.idle and p.cause not in path}) for p in found)


def _far_node_is_here(stack: Stack, station: Station) -> bool:
    """Whether there is another node that is a namespace of this machine: a server of ours can only be started there."""
    here = next((n.netns for n in stack.nodes if n.name == station.layer.node), None)
    return station.layer.target.remote and any(n.netns not in (None, here) for n in stack.nodes)
