"""A machine's data lies on several virtual disks.

What it claims
    Data that asks for more than one queue takes lies on at least four virtual disks, one for each controller that a
    machine may have.
Why it matters
    A virtual disk has one queue and one place in the storage's data path, whatever lies behind it. With one disk the
    other controllers of the machine stand idle, and what its queue does not take waits in the guest.
Evidence
    `count.disks` of a row; with `outstanding` and `count.queue`, whether one queue takes all of the load.
What rules it out
    Four disks or more; a load that one queue takes. Disks on one controller are asked about by `controllers`.
Source
    A vendor's guide for virtual machines with databases (Nutanix Scalability, part 3): at least one disk for each of
    four controllers, up to 16 for the largest. The queues are those of VMware Knowledge Base 2053145.
"""

from __future__ import annotations

from strata.analyse.laws.base import Answers, flag, measured, outstanding, value
from strata.analyse.laws.controllers import MOST
from strata.model.figures import Table

NAME, TITLE, ORDER = "virtual-disks", "number of virtual disks", 293
SAYS = "the data lies on fewer than four virtual disks"
NEXT = "Split the data over four disks, one on each controller, and measure again."


def check(table: Table) -> Answers:
    for row in measured(table, "count.disks"):
        disks, queue, load = row.figures["count.disks"].base, value(table, row, "count.queue"), outstanding(table, row)
        yield None
        if not 0 < disks < MOST or (queue is not None and load is not None and load <= queue):
            continue
        more = "" if queue is None or load is None else f", whose queue takes {queue:g} of {load:g} requests"
        text = f"the data lies on {disks:g} of at least {MOST} virtual disks{more}"
        yield flag(row, text, column="count.disks", numbers={"disks": disks})
