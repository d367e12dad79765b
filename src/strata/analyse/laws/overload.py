"""A rate that was not kept.

What it claims
    In an open loop as many I/Os are done as were asked for.
Why it matters
    If not, response times grow for as long as the run lasts: they say how long it was, not how slow the target is.
Evidence
    I/Os done against I/Os asked for, beyond 2 % and three standard deviations of a Poisson count. With the slots mostly
    taken it is the target that does not keep up; with slots free it is the generator.
What rules it out
    A closed loop, which has no rate.
Source
    Schroeder, Wierman and Harchol-Balter, Open versus closed: a cautionary tale, NSDI 2006.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from strata import units
from strata.analyse.laws.view import RunView, colour
from strata.model.analysis import Check
from strata.model.workload import OpenLoop

NAME, TITLE, ORDER = "overload", "overload", 100
SAYS = "a rate was asked for and not kept"
OF_NULL = True
NEXT = "Ask for a lower rate, or read the IOPS and leave the times out."
RATE_SHORT = 0.02
SLOTS_FULL = 0.5


def of_run(run: RunView) -> Iterator[Check]:
    """Open-loop cells that fell short."""
    for cell in run.cells:
        arrival = cell.workload.arrival
        if not isinstance(arrival, OpenLoop):
            continue
        seconds = sum(r.result.seconds for r in run.of(cell).results if r.result is not None)
        asked = arrival.iops * seconds
        if cell.ios >= asked * (1 - RATE_SHORT) - 3 * math.sqrt(asked):
            continue
        bound = cell.workload.outstanding
        who = "the target does" if cell.outstanding >= SLOTS_FULL * bound else "the generator or its schedule did"
        text = (
            f"asked for {units.count(arrival.iops)} IOPS, {units.count(cell.iops.value)} were done: {who} not keep up, "
            f"and response times grow with the length of the run; {units.significant(cell.outstanding)} of at most "
            f"{bound} I/Os were in flight"
        )
        yield colour(NAME, text, cell.layer, cell.workload.key)
