"""Equal threads get equal service, on the CPUs they were pinned to.

What it claims
    No thread of a measurement did less than half of the I/Os of another, and each ran where it was pinned.
Why it matters
    A thread that gets less service had another CPU, path or queue: the total hides two different systems.
Evidence
    The I/Os of each thread over all rounds, and the CPUs the kernel allows it to run on.
What rules it out
    Counts so small that they differ by chance; threads that had different targets.
Source
    Strata's own rule; the square root of a count is its own standard deviation (Poisson).
"""

from __future__ import annotations

import math

from strata import units
from strata.analyse.laws.base import Answers, RunView, caveat
from strata.analyse.rounds import CellRounds
from strata.model.analysis import THREADS

NAME, TITLE, ORDER = THREADS, "threads", 190
SAYS = "equal threads got unequal service, or ran elsewhere than pinned"
OF_NULL = True
NEXT = "Pin the threads in the same way (--cpus), or check what the slower one shares with others."

UNEQUAL = 0.5
"""Below this share of another's I/Os a thread is told apart."""

SIGMAS = 6.0
"""Few I/Os differ by chance; this many standard deviations do not."""


def of_run(run: RunView) -> Answers:
    """Over all rounds, so that what differs by chance from round to round cancels."""
    for cell in run.rounds.values():
        if said := [*_unequal(cell), *_elsewhere(cell)]:
            yield caveat("; ".join(said), cell.layer, cell.workload.key)


def _unequal(cell: CellRounds) -> list[str]:
    if cell.workload.deal != "share":
        return []
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
        f"thread {least} did {units.percent(few / many, 2)} of the I/Os of thread {most} ({units.count(few)} against "
        f"{units.count(many)}): they did not have the same CPUs, path or queue"
    ]


def _elsewhere(cell: CellRounds) -> list[str]:
    for one in cell.results:
        for number, thread in enumerate(one.result.threads if one.result is not None else ()):
            if thread.pinned is not None and thread.cpus and thread.cpus != thread.pinned:
                return [
                    f"thread {number} was pinned to CPUs {thread.pinned} but may only run on {thread.cpus}: "
                    "the process is not allowed on the others (cpuset)"
                ]
    return []
