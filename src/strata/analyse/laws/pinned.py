"""The busiest CPU is not a pinned one.

What it claims
    Where a load generator is pinned to CPUs, one of them is the busiest.
Why it matters
    If another one is, something else runs there (interrupts of the device, a neighbour, threads of the file system),
    and the CPU time of the pinned ones is not the cost of the I/O.
Evidence
    Busy shares by CPU and the list of pinned ones.
What rules it out
    Differences within rounding; no pinning.
Source
    Strata's own rule.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, measured
from strata.model.figures import Table

NAME, TITLE, ORDER = "pinned", "busiest CPU", 210
SAYS = "the busiest CPU is not one that the generator was pinned to"
NEXT = "Check which interrupts and threads run there, and add their time to the cost of an I/O."


def check(table: Table) -> Answers:
    pinned = set(table.words.get("pinned", "").split())
    rows = [r for r in measured(table, "busy") if r.words.get("cpu", "").isdigit()]
    inside = [r for r in rows if r.words["cpu"] in pinned]
    outside = [r for r in rows if r.words["cpu"] not in pinned]
    if not inside or not outside:
        return
    yield None
    ours, other = (max(some, key=lambda r: r.figures["busy"].base) for some in (inside, outside))
    if other.figures["busy"].bounds()[0] <= ours.figures["busy"].bounds()[1]:
        return
    shares = {"other": other.figures["busy"].base, "pinned": ours.figures["busy"].base}
    text = f"CPU {other.words['cpu']} is the busiest with {units.percent(shares['other'])}; the busiest of the "
    text += f"pinned ones ({', '.join(sorted(pinned))}) has {units.percent(shares['pinned'])}"
    yield flag(other, text, column="busy", numbers=shares)
