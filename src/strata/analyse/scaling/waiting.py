"""Where the I/Os wait that are added beyond the knee, as the requests under way at the devices tell it.

More I/Os at the same rate wait somewhere (Little, A proof for the queuing formula L = λW, Operations Research 9, 1961).

* Those that are under way at a device wait in it: it is the device that does no more, however many it serves at once.
  That it is never idle does not tell this.
* Where no more of them come to the devices, a queue before the devices lets so many through, or the rate itself is held
  (a cap, a wire, a server). The rounds tell which: of a queue the number stays and the rate is what the devices make
  of it; of a cap the rate stays and the number follows the devices' time. Where neither varies it is not told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from strata import units
from strata.model.scale import ScalePoint

FLAT = 0.15
"""By how much the rate grows over the last loads at the most, as a share."""
WIDER = 1.5
"""Times that the last load is at least of the first one that is looked at."""
NEARLY_ALL = 0.8
"""Of the added I/Os, from which on they wait in the devices."""
NEARLY_NONE = 0.1
"""Of the added I/Os, up to which they wait before the devices."""
OUTSIDE = 1.3
"""Times that the load is at least more than what is under way at the devices."""
STEADIER = 1 / 3
"""Standard deviation of the number under way over that of the rate, up to which the number is what is held."""
VARIES = 0.005
"""Standard deviation of the rate over the rounds, as a share, below which nothing is told by it."""
FREE = 4
"""Rounds beyond the first of each point, over all loads, that tell a deviation."""


@dataclass(frozen=True)
class Waits:
    """``device``: the one in which they wait, None: before the devices. ``says`` it in words."""

    device: str | None
    says: str


def waits(points: Sequence[ScalePoint], knee: float) -> Waits | str:
    """Where they wait; in words why it is not told. ``points`` by load, of one layer."""
    last = points[-1]
    late = [p for p in points if p.outstanding >= max(knee, last.outstanding / 2)]
    names = set.intersection(*(set(p.in_flight) for p in late)) if late else set()
    if not names:
        return "no requests under way at a device were counted"
    first, added = late[0], last.outstanding - late[0].outstanding
    if last.outstanding < WIDER * first.outstanding or last.iops.value > (1 + FLAT) * first.iops.value:
        return "the rate still grows at the last loads, or there is one alone"
    grown = {name: (last.in_flight[name] - first.in_flight[name]) / added for name in sorted(names)}
    whole = sum(grown.values())
    load = f"{last.outstanding} I/Os in flight"
    if full := [name for name, share in grown.items() if share >= NEARLY_ALL]:
        # What lies on another device hands on what it has: of those the lower one has least.
        one = min(full, key=lambda name: grown[name])
        says = f"{_of(last.in_flight[one], last)} of {load} are under way at it, and it does no more"
        return Waits(one, f"device {one}: {says}")
    if NEARLY_ALL <= whole <= 2 - NEARLY_ALL:
        one = max(grown, key=lambda name: grown[name])
        held = _of(sum(last.in_flight[name] for name in names), last)
        return Waits(
            one, f"device {one} and those beside it: {held} of {load} are under way at them, and they do no more"
        )
    held_at = [sum(p.in_flight[name] for name in names) for p in late]
    if abs(whole) > NEARLY_NONE or held_at[-1] <= 0 or last.outstanding < OUTSIDE * held_at[-1]:
        return f"{units.percent(max(0.0, min(1.0, whole)))} of the I/Os that are added wait in the devices"
    most = units.significant(held_at[-1])
    before = f"no more than {most} of {load} are under way at the devices"
    rate, number = _deviations(late)
    if rate is None or number is None:
        return f"{before}, and too few rounds tell whether a queue or the rate is held there"
    if rate < VARIES:
        return f"{before}, and rate and number are too steady to tell whether a queue or the rate is held there"
    if number > STEADIER * rate:
        return f"{before}, and their number varies with the rate: a queue alone does not hold it"
    return Waits(None, f"a queue before the devices: {before}, whatever the rate is")


def _of(held: float, point: ScalePoint) -> str:
    """Requests under way, of so many I/Os: a few more are the file system's own."""
    return units.significant(min(held, float(point.outstanding)))


def _deviations(late: Sequence[ScalePoint]) -> tuple[float | None, float | None]:
    """Standard deviations over the rounds, as shares, each point around its own mean: of the rate, of the number."""
    pairs = [list(_logs(p)) for p in late]
    free = sum(max(0, len(some) - 1) for some in pairs)
    if free < FREE:
        return None, None
    sums = [0.0, 0.0]
    for some in pairs:
        for i in (0, 1):
            mean = sum(one[i] for one in some) / max(1, len(some))
            sums[i] += sum((one[i] - mean) ** 2 for one in some)
    return math.sqrt(sums[0] / free), math.sqrt(sums[1] / free)


def _logs(point: ScalePoint) -> Iterator[tuple[float, float]]:
    return ((math.log(rate), math.log(held)) for rate, held in point.under_way if rate > 0 and held > 0)
