"""Utilisation is at most one.

What it claims
    No resource is busy for more than all of the time: a share of at most 100 %, IOPS × service time at most the
    number of servers, bytes per second in one direction at most the connection's rate.
Why it matters
    More than 100 % means another denominator (cores, directions, a clock that changed) or a time that is not service
    time.
Evidence
    A busy or idle share; or IOPS, service time and the number of servers (`count.servers`); or bytes sent or received
    and the link's rate.
What rules it out
    Rounding; one per cent is allowed.
Source
    Denning and Buzen, The operational analysis of queueing network models, ACM Computing Surveys 10 (1978): the
    utilisation law U = X·S.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, bounds, flag, given, throughput, times, value
from strata.model.figures import Table

NAME, TITLE, ORDER = "utilisation", "utilisation", 50
SAYS = "a resource is busy for more than all of the time"
TOLERANCE = 0.01
NEXT = "Find the denominator of the share: cores, directions, servers."


def check(table: Table) -> Answers:
    for row in given(table):
        for key in row.figures:
            span = bounds(table, row, key) if key.partition(".")[0] in ("busy", "idle") else None
            if span is None:
                continue
            yield None
            if span[0] > 1 + TOLERANCE or span[1] < 0:
                text = f"{key} is {units.percent(row.figures[key].base)} of the time"
                yield flag(row, text, broken=True, column=key, numbers={key: row.figures[key].base})
        servers, service = value(table, row, "count.servers"), bounds(table, row, "time.service")
        rate = throughput(table, row)
        if servers and service and rate:
            yield None
            low = times(rate, service)[0] / units.NS_PER_S
            if low > servers * (1 + TOLERANCE):
                text = f"IOPS × service time keeps {units.significant(low)} servers busy of {servers:g}"
                yield flag(row, text, broken=True, column="time.service", numbers={"busy": low})
        link = value(table, row, "link")
        for key in ("wire.sent", "wire.received"):
            wire = bounds(table, row, key)
            if not link or not wire:
                continue
            yield None
            if wire[0] > link * (1 + TOLERANCE):
                text = f"{units.rate(wire[0])} in one direction on a link of {units.rate(link)}"
                yield flag(row, text, broken=True, column=key, numbers={key: wire[0], "link": link})
