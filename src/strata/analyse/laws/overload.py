"""A requested rate that was not reached.

What it claims
    In an open loop as many I/Os complete as were requested.
Why it matters
    If not, response times grow for as long as the run lasts: they depend on its length, not on how slow the target is.
Evidence
    Completed I/Os against requested I/Os, beyond 2 % and three standard deviations of a Poisson count. If most slots
    are in use, the target does not keep up; if slots are free, the load generator does not.
What rules it out
    A closed loop, which has no rate.
Source
    Schroeder, Wierman and Harchol-Balter, Open versus closed: a cautionary tale, NSDI 2006.
"""

from __future__ import annotations

import math

from strata import units
from strata.analyse.laws.base import Answers, RunView, caveat
from strata.model.workload import OpenLoop

NAME, TITLE, ORDER = "overload", "overload", 100
SAYS = "a requested rate was not reached"
OF_NULL = True
NEXT = "Request a lower rate, or use the IOPS and ignore the times."
RATE_SHORT = 0.02
SLOTS_FULL = 0.5


def of_run(run: RunView) -> Answers:
    for cell in run.cells:
        arrival = cell.workload.arrival
        if not isinstance(arrival, OpenLoop):
            continue
        seconds = sum(r.result.seconds for r in run.of(cell).results if r.result is not None)
        asked = arrival.iops * seconds
        if cell.ios >= asked * (1 - RATE_SHORT) - 3 * math.sqrt(asked):
            continue
        bound = cell.workload.outstanding
        who = "the target does" if cell.outstanding >= SLOTS_FULL * bound else "the load generator or its schedule did"
        text = (
            f"{units.count(arrival.iops)} IOPS were requested, {units.count(cell.iops.value)} were done: {who} not "
            f"keep up, and response times grow with the length of the run; {units.significant(cell.outstanding)} of "
            f"at most {bound} I/Os were in flight"
        )
        yield caveat(text, cell.layer, cell.workload.key)
