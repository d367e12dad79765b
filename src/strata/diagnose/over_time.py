"""What a layer does over time: episodes that come in its cells whatever they ask, and the rate between them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from strata.analyse.steadiness import FAR
from strata.diagnose import times
from strata.diagnose.case import Case, Station
from strata.diagnose.identity_key import IdentityKey
from strata.diagnose.paused import episodes, stalled
from strata.model.analysis import CellSummary
from strata.model.counters import cpu
from strata.model.steadiness import Episodes

MOST_OF, FEWEST = 0.5, 2
"""Episodes are the layer's where at least half of its cells have them, and two."""
SAME_LENGTH, A_FEW = 2.0, 0.25
ALIKE, EQUAL = 2.0, 1.25
"""The middle half of their lengths lies within this factor: what the machine does by chance comes in all lengths."""

HELD, EXACTLY = 0.01, 1.1
"""Share of all requests' time that those take which meet a stall; the middle half of their times lies within this
factor."""

STOPPED = 0.3
"""CPUs, taken by the machine's host: a quota or a credit that is used up stops the guest for so much of the time. A
loaded host takes 0.2 of two, evenly."""

LEAST_REQUESTS = 4
"""Of a quick request's time, that a slow phase lasts: a few servers of one speed complete in volleys, which bins take
for two rates (seen at 35 ms, four at once: 82 ms slow of every 117)."""


@dataclass(frozen=True)
class LayerEpisodes:
    """The episodes of one layer, by cell. ``looked``: cells that were cut finely enough to have any. ``by_requests``:
    told by the requests that met them."""

    station: Station
    told: tuple[tuple[CellSummary, Episodes], ...]
    looked: tuple[CellSummary, ...]
    by_requests: bool = False

    @property
    def share(self) -> float:
        """Of the time that they take."""
        return _middle([e.share for _, e in self.told])

    @property
    def length_s(self) -> float:
        """Of one."""
        return _middle([e.length_s for _, e in self.told])

    @property
    def factor(self) -> float | None:
        """How many times slower they are; None where nothing is done in them."""
        known = [e.factor for _, e in self.told if e.factor is not None]
        return _middle(known) if known else None

    @property
    def count(self) -> int:
        """Of all cells."""
        return sum(e.count for _, e in self.told)

    @property
    def period_s(self) -> float | None:
        """From begin to begin: as cells tell it, else by how much of the time one of that length takes."""
        known = [e.period_s for _, e in self.told if e.period_s is not None]
        if known:
            return _middle(known)
        return self.length_s / self.share if self.share > 0 else None

    @property
    def lost(self) -> float:
        """Share of the work that was not done for them."""
        return self.share * (1 - 1 / self.factor) if self.factor else self.share

    @property
    def scatter(self) -> float:
        """The upper quartile of their lengths over the lower one."""
        low, high = np.quantile([e.length_s for _, e in self.told], [0.25, 0.75])
        return float(high / low) if low > 0 else math.inf

    @property
    def alike(self) -> bool:
        """Whether they are of one kind."""
        return self.scatter <= ALIKE

    @property
    def common(self) -> bool:
        """Whether they come whatever is asked, one at a time among it: then no queue makes them."""
        alone = [c for c in self.looked if c.workload.outstanding == 1]
        told = {c.workload.key for c, _ in self.told}
        enough = len(self.told) >= max(FEWEST, math.ceil(MOST_OF * len(self.looked)))
        return enough and (not alone or any(c.workload.key in told for c in alone))


def _middle(values: list[float]) -> float:
    return float(np.median(values))


def courses(case: Case, kind: str) -> tuple[LayerEpisodes, ...]:
    """``stalls`` or ``slow`` of every layer that was looked at, from the lowest up."""
    return _courses(IdentityKey(case), kind)


@lru_cache(maxsize=4)
def _courses(of: IdentityKey, kind: str) -> tuple[LayerEpisodes, ...]:
    (case,) = of.values
    assert isinstance(case, Case)
    return tuple(_each(case, kind))


def _each(case: Case, kind: str) -> Iterator[LayerEpisodes]:
    for station in case.stations:
        looked = tuple(c for c in station.cells if c.steadiness is not None)
        told = tuple((c, e) for c in looked if (e := episodes(c, kind)) is not None)
        course = LayerEpisodes(station, told, looked)
        if kind == "slow" and told and course.length_s < LEAST_REQUESTS * _one(course):
            course = replace(course, told=())
        if not (course.told and course.common and course.alike and kind == "stalls"):
            held = _by_requests(station, looked)
            course = course if held is None else held if kind == "stalls" else replace(course, told=())
        if looked:
            yield course


def _by_requests(station: Station, looked: tuple[CellSummary, ...]) -> LayerEpisodes | None:
    """Stalls by the requests that meet them, where no device's counter says that it stands still: whatever is asked,
    and however deep the queue, some take as long as all others of all workloads that do. Bins hold some of what is done
    beside a stall that is about as long as they are, so that they take it for a slow phase."""
    if not station.layer.target.remote:
        return None
    told = tuple(
        (c, _held(c, c.tail.far_ns)) for c in looked if c.tail is not None and c.tail.far_ns and c.tail.far_time >= HELD
    )
    if len(told) < FEWEST:
        return None
    found = LayerEpisodes(station, told, looked)
    # Where the usual request takes long, none can be far from it.
    noticed = tuple(c for c in looked if (times.at(c, 50) or math.inf) * FAR <= found.length_s * 1e9)
    found = replace(found, looked=noticed, by_requests=True)
    alone = [e.length_s for c, e in told if c.workload.outstanding == 1]
    if alone and not 1 / EQUAL <= _middle(alone) / found.length_s <= EQUAL:
        return None
    # Of a slow phase that is longer than they are, several follow each other: then something is done in it.
    cut = [e.length_s * (1 - 1 / e.factor) for c in looked for e in (episodes(c, "slow"),) if e and e.factor]
    if cut and _middle(cut) > SAME_LENGTH * found.length_s:
        return None
    return found if found.common and found.scatter <= EXACTLY else None


def _held(cell: CellSummary, ns: float) -> Episodes:
    assert cell.tail is not None
    often = cell.tail.far_ios * cell.ios / max(1, cell.workload.outstanding)
    longest = cell.tail.most * (times.at(cell, 50) or 0.0)
    return Episodes(
        share=cell.tail.far_time, count=max(1, round(often)), length_s=ns / 1e9, longest_s=max(ns, longest) / 1e9
    )


def _one(course: LayerEpisodes) -> float:
    """Seconds of a quick request, where the fewest are asked for at once."""
    fewest = min(course.looked, key=lambda c: c.workload.outstanding)
    return (times.at(fewest, 10) or 0.0) / 1e9


def seen(case: Case, kind: str) -> Iterator[LayerEpisodes]:
    """Those that are a layer's own: of the lowest layer that has them, and not the generator's.

    A layer with few cells is asked less: where those of a layer above are beyond doubt, and some of its own cells have
    episodes of the same length, they come from it.
    """
    known = {c.station.layer.name: c for c in courses(case, kind)}
    blamed: set[str] = set()
    for name, course in known.items():
        if not course.told or not course.common or not course.alike or own_fault(course) or _stopped(course):
            continue
        under = [known[one.name] for one in case.stack.stands_on(course.station.layer) if one.name in known]
        lower = [found for one in reversed(under) if (found := _the_same(one, course)) is not None]
        chosen = lower[0] if lower else course
        if blamed.isdisjoint({name, *(one.station.layer.name for one in (*under, chosen))}):
            yield chosen
        blamed |= {name, chosen.station.layer.name}


def stopped(case: Case) -> LayerEpisodes | None:
    """The episodes of a layer while the machine's host gave its CPUs to others; None where there are none."""
    all_of_them = (c for kind in ("stalls", "slow") for c in courses(case, kind))
    return next((c for c in all_of_them if c.told and c.common and c.alike and _stopped(c)), None)


def only_above(case: Case, kind: str) -> Iterator[LayerEpisodes]:
    """The episodes of a layer in workloads that no layer below was measured with, such as its writes: nothing tells
    whether they come from it or from below, and that the other workloads cost nothing more says nothing of them. One
    is enough to doubt that all is well."""
    for course in courses(case, kind):
        below = {c.workload.key for one in case.stack.stands_on(course.station.layer) for c in _cells(case, one.name)}
        looked = tuple(c for c in course.looked if c.workload.key not in below)
        told = tuple((c, e) for c, e in course.told if c.workload.key not in below)
        found = replace(course, looked=looked, told=told)
        if below and told and found.alike and not own_fault(found):
            yield found


def _cells(case: Case, layer: str) -> Iterator[CellSummary]:
    return (c for station in case.stations if station.layer.name == layer for c in station.cells)


def _the_same(lower: LayerEpisodes, upper: LayerEpisodes) -> LayerEpisodes | None:
    """The episodes of a lower layer that are as long as those of the upper; None where too few are."""
    near = upper.length_s / SAME_LENGTH, upper.length_s * SAME_LENGTH
    told = tuple((c, e) for c, e in lower.told if near[0] <= e.length_s <= near[1])
    return replace(lower, told=told) if told and len(told) >= A_FEW * len(lower.looked) else None


def own_fault(course: LayerEpisodes) -> bool:
    """Whether the generator itself waited for a CPU for half of the time that was lost, in the median cell.

    Not where the device's own counter has them, one as long as the other: a device completes what it was given, whoever
    waits for a CPU, and one that a starved process serves stands still for any time.
    """
    if _counted(course):
        return False
    if course.by_requests:
        # With many outstanding its threads wait often, and shortly, which makes no request late by all of it.
        fewest = min(c.workload.outstanding for c, _ in course.told)
        course = replace(course, told=tuple(one for one in course.told if one[0].workload.outstanding == fewest))
    waits = [w for c, _ in course.told if (w := c.readings.total(cpu.OWN_RUN_DELAY)) is not None]
    return bool(waits) and float(np.median(waits)) >= 0.5 * course.lost


def _counted(course: LayerEpisodes) -> bool:
    """Whether the device's own counter has them, in most cells, one as long as the other."""
    counted = sum(stalled(c, e) is not None for c, e in course.told) >= MOST_OF * len(course.told)
    return counted and course.scatter <= EQUAL


def _stopped(course: LayerEpisodes) -> bool:
    """Whether the host stopped the machine for half of the time that was lost, in the median cell: then they blame no
    layer, and nothing says that all is well."""
    stolen = [s for c, _ in course.told if (s := _stolen(c)) is not None]
    held = bool(stolen) and float(np.median(stolen)) >= max(STOPPED, 0.5 * course.lost)
    return held and not _counted(course)


def _stolen(cell: CellSummary) -> float | None:
    """CPUs that the host gave to others while the machine wanted them. An idle one wants none: of a guest that is
    stopped, one at least is waited for all the time."""
    own = next((p for p in cell.resources.processors if p.node is None), None)
    return None if own is None or cell.cpu_steal is None else cell.cpu_steal * own.count


def between(case: Case, layer: str) -> float:
    """What a rate of this layer is multiplied with to have the rate between its episodes; 1 where it has none."""
    lost = [c.lost for kind in ("stalls", "slow") for c in courses(case, kind) if _mine(case, c, layer)]
    return 1 / max(0.05, 1 - max(lost, default=0.0))


def _mine(case: Case, course: LayerEpisodes, layer: str) -> bool:
    return course.station.layer.name == layer and bool(course.told) and course.common and course.alike
