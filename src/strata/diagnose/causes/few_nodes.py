"""The data is on fewer nodes or members than there are.

What it claims
    The layer's data should be spread over several members, and some of them hold hardly any of the data that is read.
Why it matters
    The other members could carry as much. Rebalancing the data uses them, and needs no new hardware.
Evidence it needs
    Operational: the requests of random reads go to three quarters of the devices that carry the data, or to fewer
    (an effective number: equal shares count as all of them). Differential: the busiest member is busy for most of the
    time, the least busy one for less than half as long. Or: the stack file says on how many members the data should
    be (``expect.members``), it is on two or more and on three quarters of them or fewer, and each of these is busy
    for 90 % of the time or more in random reads.
What rules it out
    Equal shares; one device only; a member that was removed from the set (then it is not one of the devices); writes
    of which two members or more get all, and the others nothing (they are copies: each of these has the data, whichever
    is read).
What to do next
    Rebalance the data (``btrfs balance``, a rebalance of the volume), and find out why new data goes to so few.
How sure
    By how unequal the shares are, and in how many workloads.
Example
    One of three members serves all reads: 390 per second, where three would give 1 170.
Source
    The bottleneck of a closed system is the station with the greatest demand (Denning, Buzen 1978).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from strata import units
from strata.diagnose import members
from strata.diagnose.case import Case, Station
from strata.diagnose.evidence import differential, operational
from strata.diagnose.members import Shares
from strata.diagnose.opinion import Opinion, Weight
from strata.model.finding import Cause

CAUSE = Cause.FEW_NODES
PRECEDENCE = 13
SIDES = ("far",)
MOST_USED, LESS_BUSY, IN_USE = 0.75, 0.5, 0.9


def judge(case: Case) -> Iterator[Opinion]:
    """At the lowest layer that has several devices, or should have."""
    for station in case.stations:
        if (missed := _missed(station)) is not None:
            yield missed
            if missed.holds:
                return
        cells = members.shares(station)
        if cells:
            if not members.copied(case, cells[0].names) and members.used(cells) <= MOST_USED * len(cells[0].names):
                yield _opinion(station, cells)
            return


def _missed(station: Station) -> Opinion | None:
    """The data lies on fewer devices than the stack says it is to lie on, and these are what limits."""
    should = station.layer.expect.members
    reads = [c for c in station.cells if c.workload.saturates and not c.workload.rw.writes and c.carriers]
    there = max((len(c.carriers) for c in reads), default=0)
    # A single device may be many behind a controller or a network: what it lies on there is not seen from here.
    if should is None or not 2 <= there <= MOST_USED * should:
        return None
    busy = {c.workload.key: [d.busy if (d := c.resources.disk(n)) else None for n in c.carriers] for c in reads}
    if any(b is None for each in busy.values() for b in each):
        return None
    full = [c for c in reads if min(b or 0.0 for b in busy[c.workload.key]) >= IN_USE]
    random = [c for c in full if c.workload.rw.random]
    if not random:
        return Opinion(False, "the existing members are not fully busy", layer=station.layer.name)
    layer, gain = station.layer.name, should / there
    most = max(random, key=lambda c: c.iops.value)
    names, each = ", ".join(most.carriers), units.count(most.iops.value / there)
    return Opinion(
        weight=Weight.SHOWN,
        title=f"the data of {layer} is on {there} of {should} members",
        explanation=f"It is on {names}, and each of these is busy all the time ({most.workload.label}); according to "
        f"the stack file {should} members share it.",
        next_step=_spread(gain),
        cells=frozenset(c.workload.key for c in full),
        strength=1.0,
        lead=3.0 * len(full),
        evidence=(
            operational(
                f"in {len(full)} of {len(reads)} read workloads, each of {names} is busy for "
                f"{units.percent(IN_USE)} of the time or more",
                full,
            ),
            differential(
                f"{most.workload.label}: {units.count(most.iops.value)} IOPS, {each} per member; {should} "
                f"members would give {units.count(most.iops.value * gain)}",
                [most],
            ),
        ),
        layer=layer,
        loss=math.log(gain) * len(full) / len(station.cells),
    )


def _spread(gain: float) -> str:
    return (
        "Rebalance the data (btrfs balance, a rebalance of the volume), and find out why it is on so few; evenly "
        f"spread it would give up to {units.significant(gain, 2)} times the IOPS."
    )


def _opinion(station: Station, cells: tuple[Shares, ...]) -> Opinion:
    layer, of, used = station.layer.name, len(cells[0].names), members.used(cells)
    worst = max(cells, key=lambda c: max(c.shares))
    order = sorted(range(of), key=lambda n: -worst.shares[n])
    told = ", ".join(f"{worst.names[n]} {units.percent(worst.shares[n], 2)}" for n in order)
    busy = [(worst.busy[order[0]]), worst.busy[order[-1]]]
    apart = busy[0] is not None and busy[1] is not None and busy[1] < LESS_BUSY * busy[0]
    gain = of / used
    beside = differential(
        f"{worst.cell.workload.label}: {worst.names[order[0]]} is busy for "
        f"{units.percent(busy[0] or 0.0, 2)} of the time, {worst.names[order[-1]]} for "
        f"{units.percent(busy[1] or 0.0, 2)}",
        [worst.cell],
    )
    return Opinion(
        weight=Weight.SHOWN,
        title=f"the data of {layer} is on {units.significant(used, 2)} of {of} members",
        explanation=f"Random reads are spread unevenly over the members: {told} ({worst.cell.workload.label}).",
        next_step=_spread(gain),
        cells=frozenset(c.cell.workload.key for c in cells),
        strength=min(1.0, 1.5 * (1 - used / of)),
        lead=3.0 * len(cells),
        evidence=(
            operational(
                f"{worst.cell.workload.label}: shares of the reads that reach the devices: {told}",
                [c.cell for c in cells],
            ),
            *((beside,) if apart else ()),
        ),
        layer=layer,
        loss=math.log(gain) * len(cells) / len(station.cells),
    )
