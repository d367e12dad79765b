"""The nearest reference is not a cause.

What it claims
    "Close to A means one cause, close to B the other" decides only where A and B are apart, and names a resource only
    where that resource is busy.
Why it matters
    Where both references give the same figure, the rule supports either cause; and a figure may be close to the
    network's while the network carries a thousandth of what it can.
Evidence
    The row's IOPS, the references (`ref.<resource>`), and the link's rate where it is known.
What rules it out
    References further apart than the noise, and the named resource used for at least half.
Source
    Strata's own rule: a ratio needs counters or a trace beside it.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, measured, noise, value
from strata.model.figures import Row, Table

NAME, TITLE, ORDER = "nearness", "decided by nearness", 300
SAYS = "a cause named by the nearest reference, which decides nothing"
NEXT = "Decide by counters or a trace: where requests queue, and what is busy."
USED = 0.5


def check(table: Table) -> Answers:
    for row in measured(table, "iops"):
        refs = {k.partition(".")[2]: f.base for k, f in row.figures.items() if k.startswith("ref.") and f.base > 0}
        if len(refs) < 2:
            continue
        yield None
        iops = row.figures["iops"].base
        (near, first), (other, second) = sorted(refs.items(), key=lambda r: abs(r[1] - iops))[:2]
        if abs(first / second - 1) <= noise(table):
            text = (
                f"{iops:g} is close to both: {near} gives {first:g} and {other} {second:g}, so nearness decides nothing"
            )
        elif (share := _used(table, row, near)) is not None and share < USED:
            text = f"{iops:g} is close to {near} ({first:g}), which is used for {units.percent(share, 2)} only"
        else:
            continue
        yield flag(row, text, column="iops", numbers={near: first, other: second})


def _used(table: Table, row: Row, resource: str) -> float | None:
    busy = value(table, row, f"busy.{resource}")
    link, size = value(table, row, "link"), value(table, row, "size")
    if busy is not None or resource != "network" or not link or not size:
        return busy
    return row.figures["iops"].base * size / link
