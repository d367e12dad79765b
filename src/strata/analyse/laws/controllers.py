"""Every controller has its disks and its queue.

What it claims
    Virtual disks are spread over as many controllers as a machine may have, and no more requests are kept outstanding
    than the queues of the controllers take.
Why it matters
    A queue belongs to a controller and to a disk. Disks on one controller share its queue, and what it does not take
    waits in the guest, where no counter of the storage shows it.
Evidence
    `count.disks` and `count.controllers` of a row; `outstanding` over all disks and `count.queue`, the requests that
    one controller takes at once.
What rules it out
    As many controllers as disks, or four of them: virtual machines have no more. Without `count.queue` nothing is said
    of what waits.
Source
    VMware Knowledge Base 2053145 (queues of the paravirtual SCSI adapter: 64 requests of a disk and 254 of an adapter
    by default) and the configuration maximums of vSphere: four SCSI adapters, 15 disks on each.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, measured, value
from strata.model.figures import Table

NAME, TITLE, ORDER = "controllers", "disks and queues of a controller", 292
SAYS = "virtual disks share a controller, or more is outstanding than the controllers take"
MOST = 4
"""Controllers that a virtual machine may have."""


def check(table: Table) -> Answers:
    for row in measured(table, "count.disks", "count.controllers"):
        disks, controllers = (row.figures[key].base for key in ("count.disks", "count.controllers"))
        yield None
        numbers = {"disks": disks, "controllers": controllers}
        if controllers < min(disks, MOST):
            text = f"{disks:g} disks share {controllers:g} controllers, and a machine may have {MOST}"
            step = f"Spread the disks over {min(disks, MOST):g} controllers, and measure again."
            yield flag(row, text, step, column="count.controllers", numbers=numbers)
        outstanding, queue = value(table, row, "outstanding"), value(table, row, "count.queue")
        if outstanding is None or not queue or outstanding <= controllers * queue:
            continue
        waiting = outstanding - controllers * queue
        text = f"{outstanding:g} requests are kept outstanding, and {controllers:g} queues of {queue:g} take "
        text += f"{controllers * queue:g}: {units.percent(waiting / outstanding)} wait before them"
        step = "Add a controller or raise its queue depth; a deeper load alone adds waiting time."
        yield flag(row, text, step, column="outstanding", numbers=numbers | {"queue": queue, "waiting": waiting})
