"""The time that all clients overlap, and the intervals of each that lie in it.

Each client cuts its own time from the end of its own ramp. On the scheduler's clock these grids lie apart by the skew
of the starts; an interval counts where all of it lies in the common time, up to `EDGE` of its length at either end. So
the common time loses no whole interval for a microsecond of skew, and a rate in it is wrong by no more than `EDGE` of
one interval. What the clocks are known to is taken from the common time, not added to it. One client alone is together
with nobody: all of its time counts, whatever its clock is known to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strata.model.result import ClientOf, ClientResult, Interval, LostClient

EDGE = 0.01
"""Of an interval's length: how much of it may lie outside the common time at either end."""


@dataclass(frozen=True)
class Stretch:
    """A client's intervals; ``from_ns`` on the scheduler's clock is where they are counted from."""

    of: ClientOf
    from_ns: int
    intervals: tuple[Interval, ...]

    @property
    def to_ns(self) -> int:
        """The end of the last one."""
        return self.from_ns + (self.intervals[-1].end_ns if self.intervals else 0)

    @property
    def length_ns(self) -> int:
        """Of the longest, which all but the last one are."""
        return max((i.end_ns - i.start_ns for i in self.intervals), default=0)


def parts_of(clients: Sequence[ClientResult | LostClient]) -> list[Stretch]:
    """Those that measured anything and know when."""
    found = []
    for one in clients:
        intervals = one.result.intervals if isinstance(one, ClientResult) else one.intervals
        instants = one.result.instants if isinstance(one, ClientResult) else one
        if intervals and instants is not None:
            found.append(Stretch(one, instants.measured_from_ns - one.offset_ns, intervals))
    return found


@dataclass(frozen=True)
class Overlap:
    """``rows[k]`` holds the k-th interval of every client that lies in the common time, in the clients' order."""

    parts: tuple[Stretch, ...]
    from_ns: int
    to_ns: int
    rows: tuple[tuple[Interval, ...], ...]

    @property
    def bound_ns(self) -> int:
        """What the clocks are known to: that of the worst."""
        return max((part.of.bound_ns for part in self.parts), default=0)


def overlap_of(parts: Sequence[Stretch]) -> Overlap | str:
    """Of at least one; or why there is none."""
    if not parts:
        return "no client measured anything"

    def known_to(part: Stretch) -> int:
        return part.of.bound_ns if len(parts) > 1 else 0

    last, first = max(parts, key=lambda p: p.from_ns + known_to(p)), min(parts, key=lambda p: p.to_ns - known_to(p))
    from_ns, to_ns = last.from_ns + known_to(last), first.to_ns - known_to(first)
    if to_ns <= from_ns:
        apart = (from_ns - to_ns) / 1e9
        if last is first:
            return f"the clock of client {last.of.client} is not known well enough for what it measured"
        return f"client {last.of.client} began {apart:.3g} s after client {first.of.client} had ended"
    length = max(part.length_ns for part in parts)
    edge = EDGE * length
    rows: dict[int, dict[int, Interval]] = {}
    for number, part in enumerate(parts):
        for one in part.intervals:
            begins, ends = part.from_ns + one.start_ns, part.from_ns + one.end_ns
            if begins >= from_ns - edge and ends <= to_ns + edge:
                rows.setdefault(round((begins - from_ns) / length), {})[number] = one
    whole = tuple(tuple(row[n] for n in range(len(parts))) for _, row in sorted(rows.items()) if len(row) == len(parts))
    if not whole:
        return f"they overlap for {(to_ns - from_ns) / 1e9:.3g} s, in which no interval of {length / 1e9:g} s lies"
    return Overlap(tuple(parts), from_ns, to_ns, whole)
