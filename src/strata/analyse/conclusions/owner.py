"""Which node has the data, and how many copies there are.

What it asks
    Bytes on the wire for each byte of the application, on the node that owns the data and on another one: which node's
    requests are redirected, how many copies there are beyond the owner's, and what a move to the owner would gain.
Evidence
    Rows with the application's rate, the total of both directions at a node (`wire.total`), a pattern of reads or of
    writes, and the label `owner`. With a `link`, its free rate in the busier direction.
What it cannot tell
    Copies that the owner keeps for itself: they cross no wire. Without reads, a redirected write with r copies from one
    on the owner with one more. What a run under a rate cap (`cap`) would have reached without it.
Source
    The forced flow law (Denning and Buzen, ACM Computing Surveys 10, 1978); Microsoft, Storage Spaces Direct: fault
    tolerance and storage efficiency.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from strata import units
from strata.analyse.laws.base import CROSSES, STAYS, Interval, bounds, busier, copies_beyond, measured, value, writes
from strata.analyse.laws.cap import at_cap
from strata.model.cause import Cause
from strata.model.figures import Conclusion, Row, Standing, Table

NAME, ORDER = "owner", 10
READS = frozenset({"rate", "wire", "owner", "pattern"})
OWNERS = {"yes": "the owner", "no": "the other node"}
NO_READS = "reads on either node (they cross no wire on the one that has the data)"


@dataclass(frozen=True)
class Crossed:
    """Bytes on the wire for each byte of the application; ``span`` is what rounding leaves open."""

    row: Row
    times: float
    span: Interval


def conclude(table: Table) -> Iterator[Conclusion]:
    """Who redirects, then how many copies."""
    found = _crossed(table)
    if not found:
        return
    reads = {owner: one for (owner, written), one in found.items() if not written}
    written = {owner: one for (owner, is_write), one in found.items() if is_write}
    yield from _redirected(table, reads, written)
    if written:
        yield _copies(table, reads, written)


def _crossed(table: Table) -> dict[tuple[str, bool], Crossed]:
    """By owner and whether written; of several rows the one with the largest blocks."""
    found: dict[tuple[str, bool], Crossed] = {}
    rows = [r for r in measured(table, "rate", "wire.total") if table.word(r, "owner") in OWNERS]
    for row in sorted(rows, key=lambda r: value(table, r, "size") or 0.0):
        pattern = table.word(row, "pattern") or ""
        application = _application(table, row)
        wire = bounds(table, row, "wire.total")
        if application is None or wire is None or not pattern.endswith(("read", "write")):
            continue
        times = (value(table, row, "wire.total") or 0.0) / application
        span = (max(wire[0], 0.0) / application, wire[1] / application)
        found[table.word(row, "owner") or "", writes(table, row)] = Crossed(row, times, span)
    return found


def _application(table: Table, row: Row) -> float | None:
    """Bytes a second: the rate that was asked for and reached is known better than the printed one."""
    size, asked = value(table, row, "size"), at_cap(table, row)
    rate = asked * size if asked and size else value(table, row, "rate")
    return rate or None


def _redirected(table: Table, reads: dict[str, Crossed], written: dict[str, Crossed]) -> Iterator[Conclusion]:
    far = [o for o, c in reads.items() if c.times >= CROSSES]
    near = [o for o, c in reads.items() if c.times <= STAYS]
    rows = tuple(c.row.name for c in (*reads.values(), *written.values()))
    if not reads or (far and not near):
        yield Conclusion(
            asked=NAME,
            standing=Standing.OPEN,
            says="whose requests are redirected",
            because="a write with one copy more looks like a redirected one"
            if not reads
            else "reads cross a wire, and no node is shown on which they do not",
            next_step="Print the bytes on the wire for reads on each node.",
            rows=rows,
            missing=(NO_READS,),
        )
    elif far:
        yield _moving(table, far[0], near[0], reads, written)


def _moving(table: Table, far: str, near: str, reads: dict[str, Crossed], written: dict[str, Crossed]) -> Conclusion:
    """What is redirected, and what moving would change on the wire."""
    says = f"requests of {OWNERS[far]} are redirected through {OWNERS[near]}"
    if near != "yes":
        says += ": the data is where the figures cross no wire, not on the node that is labelled the owner"
    here, there = reads[far], reads[near]
    because = f"a read byte crosses {_said(here)} wires on {OWNERS[far]} and {_said(there)} on {OWNERS[near]}"
    gain, numbers = "reads then cross no wire", {"read": here.times, "read_moved": there.times}
    if far in written and near in written:
        a, b = written[far], written[near]
        numbers |= {"written": a.times, "written_moved": b.times, "added": a.times - b.times}
        one_way = busier(1.0, a.times), b.times
        numbers |= {"busier": one_way[0], "busier_moved": one_way[1]}
        because += f"; a written byte {_said(a)} and {_said(b)}"
        if abs(a.times - b.times - 1) > 1 - CROSSES:
            because += f": {units.significant(a.times - b.times, 2)} more, and one extra crossing would be 1"
        gain += f", writes {units.significant(b.times, 2)} in place of {units.significant(a.times, 2)}"
        if one_way[1] >= one_way[0] * (1 - STAYS):
            gain += f" (the busier direction carries {units.significant(one_way[1], 2)} either way: where that one is "
            gain += "saturated, writes gain nothing)"
    rows = [c.row for c in (*reads.values(), *written.values())]
    held = [r for r in rows if at_cap(table, r) is not None]
    if held:
        because += f". No gain was measured: {len(held)} of {len(rows)} rows are at the requested rate"
    return Conclusion(
        asked=NAME,
        standing=Standing.SHOWN,
        cause=Cause.REDIRECTED,
        at=OWNERS[far],
        says=says,
        because=because + ".",
        next_step=f"Move the workload to {OWNERS[near]}, or the ownership: {gain}.",
        rows=tuple(r.name for r in rows),
        missing=("the rate without the cap, on both nodes",) if held else (),
        numbers=numbers,
    )


def _copies(table: Table, reads: dict[str, Crossed], written: dict[str, Crossed]) -> Conclusion:
    """Solved on the owner where it is known, else on the other node."""
    owner = "yes" if "yes" in written else "no"
    one = written[owner]
    # Without reads the label alone says whether one way is the request's own.
    ways = {o: float(round(reads[o].times)) if o in reads else float(o == "no") for o in written}
    once, copies = ways[owner], copies_beyond(one.times, ways[owner])
    low = max(c.span[0] - ways[o] for o, c in written.items()) - STAYS
    high = min(c.span[1] - ways[o] for o, c in written.items()) + STAYS
    fits = [r for r in range(10) if low <= r <= high]
    numbers = {"copies_beyond": float(copies)} | ({"least": float(fits[0]), "most": float(fits[-1])} if fits else {})
    because = f"a written byte crosses {_said(one)} wires on {OWNERS[owner]}"
    if len(written) > 1:
        other = written["no" if owner == "yes" else "yes"]
        because += f" and {_said(other)} on {OWNERS['no' if owner == 'yes' else 'yes']}"
    because += f": r = {copies}"
    if not fits:
        because += ", but no number of copies fits both rows"
    elif len(fits) > 1:
        because += f"; the rounding leaves {' or '.join(map(str, fits))}"
    if "no" in reads and abs(reads["no"].times - 1) < 1 - CROSSES:
        because += ". A redirected read counts once at a node, so the counter counts no byte twice"
    beyond = f"{copies} cop{'y' if copies == 1 else 'ies'} beyond the owner's: at least {copies + 1} in all"
    link = value(table, one.row, "link")
    used = None if link is None else (one.times - once) * (_application(table, one.row) or 0.0) / link
    if used is not None:
        numbers["used"] = used
        because += f". They use {units.percent(used, 2)} of the link in one direction"
    return Conclusion(
        asked=NAME,
        standing=Standing.OPEN if not fits else Standing.SHOWN if owner in reads else Standing.SUGGESTED,
        cause=Cause.MIRROR_COPIES if copies else None,
        at=OWNERS[owner],
        says=f"each write is sent to {beyond}" if copies else "no copy crosses a wire",
        because=because + ".",
        next_step="Read bytes sent and received separately, and the counters of the physical disks of every node.",
        rows=tuple(c.row.name for c in written.values()),
        missing=(
            *(() if reads else (NO_READS,)),
            "copies that a node keeps for itself, which cross no wire",
            *(() if link else ("what a link carries: whether the copies fill it",)),
        ),
        numbers=numbers,
    )


def _said(one: Crossed) -> str:
    return "0" if one.times < 0.05 else units.significant(one.times, 2)
