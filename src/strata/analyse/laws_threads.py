"""The threads of one measurement against each other, and where they ran against where they should."""

from __future__ import annotations

import math

from strata import units
from strata.analyse.rounds import CellRounds
from strata.model.analysis import Check, CheckKind

UNEQUAL = 0.5
"""Threads ask for the same; one that gets less than half of another's I/Os had another processor, path or queue."""

SIGMAS = 6.0
"""Few I/Os differ by chance: the square root of a count is its own standard deviation."""


def threads(cell: CellRounds) -> Check | None:
    """Over all rounds, so that what differs by chance from round to round cancels."""
    said = [*_unequal(cell), *_elsewhere(cell)]
    if not said:
        return None
    return Check(
        kind=CheckKind.THREADS,
        layer=cell.layer,
        workload_key=cell.workload.key,
        impossible=False,
        message="; ".join(said),
    )


def _unequal(cell: CellRounds) -> list[str]:
    done: dict[int, int] = {}
    for one in cell.results:
        for number, thread in enumerate(one.result.threads if one.result is not None else ()):
            done[number] = done.get(number, 0) + thread.ops
    if len(done) < 2:
        return []
    least, most = min(done, key=done.__getitem__), max(done, key=done.__getitem__)
    few, many = done[least], done[most]
    if few >= UNEQUAL * many or many - few <= SIGMAS * math.sqrt(many):
        return []
    return [
        f"thread {least} did {units.percent(few / many, 2)} of the I/Os of thread {most} "
        f"({units.count(few)} against {units.count(many)}): they did not have the same processors, path or queue"
    ]


def _elsewhere(cell: CellRounds) -> list[str]:
    for one in cell.results:
        for number, thread in enumerate(one.result.threads if one.result is not None else ()):
            if thread.pinned is not None and thread.cpus and thread.cpus != thread.pinned:
                return [
                    f"thread {number} was to run on processors {thread.pinned} and may run on {thread.cpus}: "
                    "the process may not use the others (cpuset)"
                ]
    return []
