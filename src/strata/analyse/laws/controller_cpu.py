"""The storage controller has processors to spare.

What it claims
    The processors of the node, virtual machine or process that serves the storage are less than nine tenths busy.
Why it matters
    A storage controller whose processors are full adds its own waiting to every request, whatever the disks do. Its
    system needs a part of them: what it may use is less than what it has.
Evidence
    `busy.controller`, the share of all its processors in use; with `cores.controller` how many it has, and with
    `count.workers` how many its data path may use.
What rules it out
    A busy share below nine tenths of what the data path may use.
Source
    The utilisation law (Denning and Buzen, ACM Computing Surveys 10, 1978): a request of one server that is busy for
    nine tenths of the time waits nine times its service time (M/M/1).
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, measured, value
from strata.model.figures import Table

NAME, TITLE, ORDER = "controller-cpu", "processors of the storage controller", 294
SAYS = "the processors of the storage controller are full"
FULL = 0.9


def check(table: Table) -> Answers:
    for row in measured(table, "busy.controller"):
        busy, cores = row.figures["busy.controller"].base, value(table, row, "cores.controller")
        workers = value(table, row, "count.workers")
        yield None
        usable = workers / cores if workers and cores and workers < cores else 1.0
        if busy < FULL * usable:
            continue
        of = "" if usable == 1.0 else f", of which its data path may use {workers:g} of {cores:g}"
        text = f"the storage controller's processors are {units.percent(busy)} busy{of}"
        step = "Give it more processors, or spread the load over more controllers, and measure again."
        yield flag(row, text, step, column="busy.controller", numbers={"busy": busy, "usable": usable})
