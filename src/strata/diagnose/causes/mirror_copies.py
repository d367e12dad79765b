"""Copies over one wire.

What it claims
    Each write is sent to several nodes over one card, and that card is saturated; reads do not cross it.
Why it matters
    The card's rate is divided by the number of copies. Faster disks, a faster client link and more depth gain nothing.
Evidence it needs
    Operational: for each byte written the nodes send at least one byte more than for each byte read, at the largest
    blocks; packets queue in front of the card that sends them, in cells with most of the bytes written. The number of
    copies r, beyond the owner's, is calculated from the bytes.
What rules it out
    Writes that cross no more wires than reads; a card that sends the copies and is not saturated.
What to do next
    Fewer copies, or parity instead of them, where the data allows it; then a second or a faster card for the copies.
How sure
    By the share of the writes in which the card is saturated. The lowest layer that shows it is blamed.
Example
    Writes of 64 KiB on the owner of three copies: its card sends 2.06 bytes for each byte written, 16 MB/s in all,
    and the application gets 7.8 MB/s; reads send nothing.
Source
    Microsoft, Storage Spaces Direct: fault tolerance and storage efficiency (two-way and three-way mirrors).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from strata import units
from strata.analyse.laws.base import copies_beyond
from strata.diagnose import card, crossing
from strata.diagnose.case import Case, Station
from strata.diagnose.evidence import differential, operational
from strata.diagnose.opinion import Opinion, Weight
from strata.model.analysis import CellSummary
from strata.model.finding import Cause, FindingRow
from strata.model.resources import Card as Interface

CAUSE = Cause.MIRROR_COPIES
PRECEDENCE = 44
LEAST_COVER, SLACK = 0.6, 0.15


def judge(case: Case) -> Iterable[Opinion]:
    """See the module: only of the lowest layer whose writes are held by their copies."""
    for station in case.stations:
        found = tuple(_held(case, station))
        if found:
            yield from found
            return


def _held(case: Case, station: Station) -> Iterator[Opinion]:
    written, read = crossing.writes(station.cells), crossing.reads(station.cells)
    if written is None or read is None:
        return
    once = read.times
    if not copies_beyond(written.times, once):
        return
    writing = [c for c in station.cells if not c.workload.rw.reads]
    sender = max(written.sent, key=lambda n: written.sent[n])
    full = _full(writing, sender)
    moved = sum(c.bytes_per_second.value for c in writing)
    share = sum(c.bytes_per_second.value for c, _ in full) / moved if moved else 0.0
    if not full or share < LEAST_COVER:
        return
    largest, wire = max(full, key=lambda one: one[0].workload.bs_moments[0])
    beyond = sends = _copies(case, sender)
    fewer = (
        (f"{units.significant(sends / (sends - 1), 2)} times the bytes")
        if sends > 1
        else "as many bytes as the disks accept"
    )
    yield Opinion(
        weight=Weight.SHOWN,
        layer=station.layer.name,
        loss=math.log(sends / (sends - 1) if sends > 1 else 2.0) * len(full) / len(station.cells),
        title=f"each write is sent to {beyond} other node{'s' * (beyond > 1)} over {wire.name}, which is saturated",
        explanation=f"{wire.name} carries {units.rate(wire.most)} of copies, {units.significant(written.times, 2)} "
        f"bytes for each byte written, and the application gets {units.rate(largest.bytes_per_second.value)}: "
        f"{beyond + 1} copies. Reads send {units.significant(once, 2)}.",
        next_step=f"Give the copies a faster card or a separate one; with one copy fewer it would carry {fewer}. "
        "Faster disks and more depth would not help.",
        cells=frozenset(c.workload.key for c, _ in full),
        strength=share,
        lead=10 * share,
        rows=tuple(_row(c, max(w.most for _, w in full), written.sent[sender]) for c, _ in full),
        evidence=(
            operational(
                f"in {len(full)} of {len(writing)} write workloads, packets queue in front of {wire.name}, "
                f"or it carries as much as with such a queue, up to {units.rate(wire.most)}",
                [c for c, _ in full],
            ),
            differential(
                f"a written byte crosses {units.significant(written.times, 2)} wires, a read byte "
                f"{units.significant(once, 2)}",
                station.cells,
            ),
        ),
    )


def _copies(case: Case, sender: str) -> int:
    """Beyond the owner's: the least that it sends for each byte at any layer, as a file system adds its own."""
    known = (w.sent[sender] for s in case.stations if (w := crossing.writes(s.cells)) is not None and sender in w.sent)
    return min((copies for b in known if (copies := copies_beyond(b, 0.0))), default=1)


def _full(writing: list[CellSummary], sender: str) -> list[tuple[CellSummary, Interface]]:
    """Cells in which the sender's busiest card has a queue, or carries nearly as much as with one."""
    first = ((c, next((w for w in c.resources.cards if w.node == sender), None)) for c in writing)
    cards = [(c, w) for c, w in first if w is not None]
    waits = [w.most for _, w in cards if (w.waiting or 0.0) >= card.WAITS]
    return [(c, w) for c, w in cards if w.most >= card.AS_FULL * max(waits)] if waits else []


def _row(cell: CellSummary, most: float, sent: float) -> FindingRow:
    """What the card's rate leaves of each write, when all copies of it pass the card."""
    left = most / sent / cell.workload.bs_moments[0]
    low, high = (1 - SLACK) * left, (1 + SLACK) * left
    share = min(1.0, cell.iops.value / low, high / cell.iops.value)
    name = f"{cell.layer}/{cell.workload.key}"
    return FindingRow(cell=name, measured=cell.iops.value, low=low, high=high, share=round(share, 3))
