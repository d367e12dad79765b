"""Both directions together are no utilisation.

What it claims
    A counter that adds bytes sent and received is not compared with the rate of a link in one direction.
Why it matters
    A full-duplex link at 3 GiB/s in total may carry 2 one way and 1 the other: 17.2 Gb/s of it are used, not 25.8.
Evidence
    The total of both directions at a node, the application's rate, and whether the node owns the volume: bytes beyond
    the application's own stream are copies that go the other way.
What rules it out
    Counters per direction; traffic that goes one way only (an owner that sends copies, a reader that receives).
Source
    Conservation of bytes at a node (the forced flow law: Denning and Buzen, ACM Computing Surveys 10, 1978).
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, busier, flag, measured, value, writes
from strata.model.figures import Row, Table

NAME, TITLE, ORDER = "directions", "rate per direction", 280
SAYS = "both directions of a link are added up in one figure"
NEXT = "Read bytes sent and bytes received separately."
TOLERANCE = 0.05


def check(table: Table) -> Answers:
    for row in measured(table, "wire.total"):
        total = value(table, row, "wire.total") or 0.0
        one_way = _busier(table, row, total) if total > 0 else None
        if one_way is None:
            continue
        yield None
        if total <= one_way * (1 + TOLERANCE):
            continue
        bits = [units.significant(x * 8 / 1e9) for x in (one_way, total)]
        text = f"{units.rate(total)} are both directions together: {units.rate(one_way)} one way and "
        text += f"{units.rate(total - one_way)} the other, so the link is used for {bits[0]} Gb/s, not {bits[1]}"
        yield flag(row, text, column="wire.total", numbers={"total": total, "busier": one_way})


def _busier(table: Table, row: Row, total: float) -> float | None:
    known = [v for k in ("wire.sent", "wire.received") if (v := value(table, row, k)) is not None]
    if known:
        return max(known)
    app = value(table, row, "rate")
    if app is None or table.word(row, "owner") != "no" or not writes(table, row):
        return None
    return busier(app, total)
