"""A mirrored write is written more than once.

What it claims
    Where the wire shows r remote copies of every byte, the *physical* disks take at least 1 + r bytes for each byte
    the application writes, and at least 1 + r copies are said to be kept.
Why it matters
    A counter named "disk" that shows the application's own rate is above the mirror: it is the virtual disk, and does
    not show the load of the medium.
Evidence
    The application's write rate, the bytes on the wire at a node, whether the node owns the volume, the device's rate;
    the copies that a said row names (`count.copies`).
What rules it out
    A counter that is known to be a virtual disk's; reads; no copies on the wire.
Source
    The forced flow law, V = X_k ÷ X (Denning and Buzen, ACM Computing Surveys 10, 1978).
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, bounds, copies_beyond, flag, measured, value, writes
from strata.model.figures import Role, Table

NAME, TITLE, ORDER = "copies", "copies written", 290
SAYS = "disks take less than the copies on the wire"
SHORT = 0.25
"""The device may miss this share of what it must take: figures read off a chart."""


def check(table: Table) -> Answers:
    """Write rows whose physical disks take less than the copies that the wire shows; fewer copies said than shown."""
    yield from _said(table)
    for row in measured(table, "rate", "wire.total", "device"):
        owner = table.word(row, "owner")
        if not writes(table, row) or table.word(row, "disk") != "physical" or owner not in ("yes", "no"):
            continue
        app, wire, device = (value(table, row, k) or 0.0 for k in ("rate", "wire.total", "device"))
        yield None
        remote = copies_beyond(wire / app, float(owner == "no")) if app > 0 else 0
        least = (1 + remote) * app
        if remote < 1 or device >= least * (1 - SHORT):
            continue
        text = f"the wire carries {remote} copies of every byte, so the disks take at least {units.rate(least)}; the "
        text += f"one called physical takes {units.rate(device)}: it is the virtual disk, above the mirror"
        step = "Read the counters of the physical disks of every node."
        yield flag(
            row,
            text,
            step,
            broken=True,
            column="device",
            numbers={"remote_copies": float(remote), "device": device, "least": least},
        )


def _said(table: Table) -> Answers:
    for said in table.of(Role.SAID):
        copies = value(table, said, "count.copies")
        if copies is None:
            continue
        for row in measured(table, "rate", "wire.total"):
            wire, app = bounds(table, row, "wire.total"), value(table, row, "rate")
            if not writes(table, row) or table.word(row, "owner") != "yes" or not (wire and app):
                continue
            yield None
            # The rate that was printed is the surer of the two; of the wire every rounding is allowed.
            shown = copies_beyond(row.figures["wire.total"].base / app, 0.0)
            if wire[0] / app <= copies - 1 + SHORT:
                continue
            text = f"{copies:g} copies put {copies - 1:g} on the wire for each byte written; {row.name} shows {shown}, "
            text += f"so there are at least {shown + 1}, or something else is on the wire"
            step = "Check how many copies the volume keeps and where; read bytes sent and received separately."
            yield flag(
                said, text, step, broken=True, column="count.copies", numbers={"said": copies, "shown": shown + 1.0}
            )
