"""Whether the storage or a cache answered, and whether the mean is a state of either.

What it asks
    Percentiles of one run: whether most I/Os took less time than a device needs, whether a few took most of the time,
    and whether IOPS and mean show what the storage can do.
Evidence
    The median, the time beyond the high percentiles, the mean; `caching` (`on` or `off`) where the run states it.
What it cannot tell
    Whether a stall, a flush or a full write cache made the few wait: that needs the rate over time and the bytes at the
    device. A device of memory from a cache, where caching was off. How fast the storage is behind the cache.
Source
    SNIA Solid State Storage Performance Test Specification (steady state; a working set beyond every cache); Tene, How
    not to measure latency, 2013.
"""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.analyse.laws.base import Points, of_row, of_table, outstanding, shares, value
from strata.model.cause import Cause
from strata.model.figures import Conclusion, Figure, Role, Row, Standing, Table

NAME, ORDER = "answered", 40
READS = frozenset({"time", "percentile"})
DEVICE_NS = 8_000.0
"""The quickest devices behind a bus answer a request of an operating system after about 10 µs; memory in less."""
FEW, WAITED, APART, LONG_NS = 1.0, 0.3, 1000.0, 50e6
"""Stalls: at most one per cent of the I/Os hold 30 % of the time, each a thousand medians long and longer than any
device looks for a block."""
OVER_TIME = "the rate over time, and the bytes that reached the device"


def conclude(table: Table) -> Iterator[Conclusion]:
    """A cache first, then the few that waited."""
    whole = table.rows[0] if table.rows else None
    mean, points = of_table(table)
    if whole is not None and points:
        yield from _of(table, whole.model_copy(update={"name": table.name, "figures": {}, "words": {}}), mean, points)
    for row in table.of(Role.MEASURED):
        yield from _of(table, row, *of_row(row))


def _of(table: Table, row: Row, mean: Figure | None, points: Points) -> Iterator[Conclusion]:
    median = next((time for p, time in points if p == 50), None)
    if median is None or table.word(row, "engine") == "nothing":
        return
    cached = _cached(table, row, median)
    if cached is not None:
        yield cached
    if mean is not None:
        yield from _waited(table, row, mean, median, points)


def _cached(table: Table, row: Row, median: Figure) -> Conclusion | None:
    stated, quick = table.word(row, "caching"), median.bounds()[1] < DEVICE_NS
    if not quick and stated != "on":
        return None
    middle = units.duration(median.base)
    if quick:
        says = f"{row.name}: a cache answered most I/Os, in {middle}"
        because = "no device on a bus answers an operating system in less than 8 µs, memory does; "
        because += {
            "on": "caching was on",
            "off": "caching is stated to be off: it was not, or the device is memory",
        }.get(stated or "", "whether caching was on is not printed")
    else:
        says = f"{row.name}: whether a cache answered"
        because = f"caching was on, and a device may also have a median of {middle}"
    return Conclusion(
        asked=NAME,
        standing=Standing.OPEN if not quick else Standing.SHOWN if stated == "on" else Standing.SUGGESTED,
        cause=Cause.CACHE_FLATTERS if quick else None,
        says=says,
        because=f"{because}.",
        next_step="Run it with caching off, on data several times as large as every cache.",
        rows=(row.name,),
        missing=() if stated == "on" and quick else ("the bytes that the device moved for each byte requested",),
        numbers={"median": median.base},
    )


def _waited(table: Table, row: Row, mean: Figure, median: Figure, points: Points) -> Iterator[Conclusion]:
    """The smallest tail that holds a third of the time, if each I/O of it is far from the others."""
    times = dict(points)
    held = [(p, s) for p, s in shares(mean, points) if p >= 100 - FEW and s >= WAITED]
    slow = [(p, s) for p, s in held if times[p].bounds()[0] >= max(LONG_NS, APART * median.bounds()[1])]
    if not slow:
        return
    p, share = slow[-1]
    length, longest = units.duration(times[p].base), units.duration(times[max(times)].base)
    because = (
        f"{100 - p:.3g} % of the I/Os took {length} to {longest} each and make up at least {units.percent(share, 2)} "
    )
    because += f"of the time{_of_run(table, row, share)}; half of all I/Os took {units.duration(median.base)} or less"
    yield Conclusion(
        asked=NAME,
        standing=Standing.SUGGESTED,
        cause=Cause.STALLS,
        says=f"{row.name}: it answers fast or stalls, and the mean of {units.duration(mean.base)} is no capacity",
        because=f"{because}. {_states(table, row, mean, points)}.",
        next_step="Measure longer with the rate over time, caching off: stalls remain, a full cache and its flushes "
        "do not.",
        rows=(row.name,),
        missing=(OVER_TIME, "which of these it is: a device that stalls, a flush, or a write cache that drains"),
        numbers={"share": share, "percentile": p, "mean": mean.base},
    )


def _of_run(table: Table, row: Row, share: float) -> str:
    seconds = value(table, row, "seconds")
    return "" if not seconds else f", {units.duration(share * seconds)} of {units.duration(seconds)}"


def _states(table: Table, row: Row, mean: Figure, points: Points) -> str:
    """What the mean joins: IOPS with and without the waiting."""
    n, iops = outstanding(table, row), value(table, row, "iops")
    body = next(((p, time.base) for p, time in reversed(points) if p < 100 - FEW + 1e-9), None)
    if n is None or iops is None or body is None:
        return "IOPS and mean mix both, and are the rate of neither"
    joined = n / mean.base * units.NS_PER_S
    return (
        f"{units.count(round(iops))} IOPS (outstanding ÷ mean: {units.count(round(joined))}) mix both; while it "
        f"answered, {units.percent(body[0] / 100, 3)} of the I/Os took at most {units.duration(body[1])}, "
        f"{units.count(round(n / body[1] * units.NS_PER_S))} IOPS or more"
    )
