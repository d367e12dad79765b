"""A storage controller keeps two processors for its system, and grows by two.

What it claims
    Of the N processors of a storage controller its data path may use N − 2, and sizes that are compared are at least
    two processors apart.
Why it matters
    With fewer than two left, the controller's own system takes turns with the data path, and each turn is a stall. With
    more left, processors stand idle that would serve requests. One processor more is a few per cent, which two
    measurements do not tell apart.
Evidence
    `cores.controller`, and `count.workers`, how many of them the data path may use.
What rules it out
    Exactly two left; sizes that are two or more apart. A controller that is no virtual machine of its own has no such
    rule: leave `count.workers` out.
Source
    A vendor's guide for its controllers (Nutanix Scalability, part 3: storage performance for a single virtual
    machine): its I/O engine gets N − 2 of the controller's virtual processors, and a full controller is given two more.
"""

from __future__ import annotations

from itertools import pairwise

from strata.analyse.laws.base import Answers, flag, given, value
from strata.model.figures import Table

NAME, TITLE, ORDER = "controller-size", "size of the storage controller", 294.5
SAYS = "the storage controller's data path does not have all processors but two, or sizes are one processor apart"
KEPT = 2
"""Processors that its system keeps, and by how many it grows."""


def check(table: Table) -> Answers:
    sizes: dict[float, str] = {}
    for row in given(table):
        cores, workers = value(table, row, "cores.controller"), value(table, row, "count.workers")
        if not cores:
            continue
        sizes.setdefault(cores, row.name)
        if not workers:
            continue
        yield None
        left = cores - workers
        numbers = {"cores": cores, "workers": workers}
        if left < KEPT:
            text = f"{workers:g} of {cores:g} processors serve requests: {left:g} of {KEPT} are left for its system"
            step = f"Give the controller {KEPT} more processors, or its data path fewer, and measure again."
            yield flag(row, text, step, column="count.workers", numbers=numbers)
        elif left > KEPT:
            text = f"{workers:g} of {cores:g} processors serve requests: {left - KEPT:g} more may"
            step = f"Let the data path use {cores - KEPT:g} of them, and measure again."
            yield flag(row, text, step, column="count.workers", numbers=numbers)
    for small, large in pairwise(sorted(sizes)):
        yield None
        if large - small < KEPT:
            text = f"sizes of {small:g} and {large:g} processors are {large - small:g} apart, and not {KEPT}"
            step = f"Compare sizes that are at least {KEPT} processors apart."
            yield flag(None, text, step, column="cores.controller", numbers={"small": small, "large": large})
