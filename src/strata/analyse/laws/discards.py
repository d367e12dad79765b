"""No discards beside a measurement.

What it claims
    The devices of a cell spend no time on discards while it is measured, unless the workload is one of trims.
Why it matters
    A weekly `fstrim`, a file system mounted with `discard`, or a thin volume above discards beside the workload. Most
    SSDs queue them with reads and writes: latency rises for a cause that has ended when you look.
Evidence
    The time and the bytes of discards at each device that carries the cell (`/proc/diskstats`, fields 12 to 15).
What rules it out
    Less than one per cent of the time; a workload of trims; a kernel before 4.18, which does not count them.
Source
    Linux, Documentation/admin-guide/iostats.rst; fstrim(8), by which once a week is enough for most systems.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, RunView, caveat
from strata.model.counters import blockdev

NAME, TITLE, ORDER = "discards", "discards beside the workload", 345
SAYS = "a device discarded blocks beside the measurement"
NEXT = "Measure again when fstrim is done (systemctl list-timers fstrim.timer), or mount without discard."
ONLY_CAVEAT = True
SHARE = 0.01
"""Seconds of discards in each second from which they are told."""


def of_run(run: RunView) -> Answers:
    """One for each cell, naming the device that spent most on them."""
    for cell in run.cells:
        if cell.workload.rw.discards:
            continue
        own = {*cell.devices, *cell.carriers}
        spent = [r for r in cell.readings.of(blockdev.DISCARD_SECONDS) if r["device"] in own and r.value >= SHARE]
        if not spent:
            continue
        most = max(spent, key=lambda reading: reading.value)
        moved = cell.readings.value(blockdev.DISCARD_BYTES, device=most["device"], node=most.node) or 0.0
        share = units.percent(most.value, 2)
        text = f"{most['device']} discarded {units.rate(moved)} beside the workload, {share} of the time"
        yield caveat(text, cell.layer, cell.workload.key)
