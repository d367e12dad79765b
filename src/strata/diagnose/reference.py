"""What a layer should give: by its specification, else as it was in an earlier run, and between what these say.

A healthy device is taken as so many servers of one service time: ``service(bs)`` seconds each, ``iops·latency`` of
them. That is what a specification's three figures say together (Little's law; asymptotic bounds: Denning, Buzen 1978).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from strata import units
from strata.analyse.stats import PRIOR_DF, t_quantile
from strata.diagnose import times
from strata.diagnose.case import Case, Station
from strata.model.analysis import CellSummary
from strata.model.estimate import Estimate
from strata.model.expect import SMALL, Expect
from strata.model.reference import ReferenceSource
from strata.model.workload import Workload

LEAST_SD = 0.02
UNEVEN = 1.5
"""The median over the tenth percentile, of a device that takes no one time: a busy machine spoils the slower half."""
BLOCK = 8192
SPECIFICATION, EARLIER = "its specification", "its earlier run"
GROUND_SIZE, LARGE_SIZE = 64 << 10, 128 << 10


def sd_of(estimate: Estimate) -> float:
    """Standard error on logs, no less than 2 %; 0.15 of one round, which tells none."""
    low, high = estimate.low, estimate.high
    if low is None or high is None or low <= 0:
        return 0.15
    return max(LEAST_SD, math.log(high / low) / (2 * t_quantile(estimate.n - 1 + PRIOR_DF)))


@dataclass(frozen=True)
class Healthy:
    """The device as it should be: ``latency`` of a small read alone (s), ``iops`` of many, ``bandwidth`` (bytes/s)."""

    latency: float | None
    iops: float | None
    bandwidth: float | None
    source: str

    @property
    def servers(self) -> float | None:
        """How many requests it serves at once (Little's law: rate times time)."""
        return self.iops * self.latency if self.iops and self.latency else None

    def service(self, size: float) -> float | None:
        """Seconds of one request of that size, alone; a straight line through the sizes that are stated."""
        if self.latency is None:
            return None
        at_once = self.servers
        if size <= SMALL[1] or at_once is None or self.bandwidth is None:
            return self.latency if size <= SMALL[1] else None
        each = max(0.0, at_once * LARGE_SIZE / self.bandwidth - self.latency) / (LARGE_SIZE - BLOCK)
        return self.latency + each * (size - BLOCK)

    def rate(self, depth: int, size: float) -> float | None:
        """IOPS of reads of that size with so many outstanding; None where too little is stated."""
        alone = self.service(size)
        if depth == 1:
            return None if alone is None else 1 / alone
        most = [self.iops] if size <= SMALL[1] else [self.bandwidth / size] if self.bandwidth else []
        if alone is not None:
            most += [depth / alone, self.servers / alone if self.servers else None]
        known = [x for x in most if x is not None]
        enough = (self.iops if size <= SMALL[1] else self.bandwidth) is not None or self.servers is not None
        return min(known) if known and enough else None

    def most(self, depth: int, size: float) -> float | None:
        """The most that it may give beside `rate`: beyond the size of which a bandwidth is stated, larger blocks may
        carry more bytes, as far as the servers' time lets them."""
        rate, alone, at_once = self.rate(depth, size), self.service(size), self.servers
        if rate is None or size <= LARGE_SIZE:
            return rate
        if alone is None or at_once is None:
            return max(rate, self.iops) if self.iops is not None else None
        return max(rate, min(depth, at_once) / alone)


ALL_OF_IT = 0.8, 1.25
"""Bytes read of a device for each byte of the workload, between: what lies on several, or is cached, is not counted."""


@dataclass(frozen=True)
class ReferenceComparison:
    """A cell beside what it should give. ``ratio_log`` is ln(measured ÷ promised)."""

    cell: CellSummary
    promised: float
    measured: float
    sd: float

    @cached_property
    def key(self) -> str:
        return self.cell.workload.key

    @property
    def depth(self) -> int:
        """I/Os kept outstanding."""
        return self.cell.workload.outstanding

    @property
    def size(self) -> float:
        """Bytes per I/O."""
        return self.cell.workload.bs_moments[0]

    @cached_property
    def of_one(self) -> float:
        """As `of_one`, of its cell."""
        return of_one(self.cell)

    @property
    def ratio_log(self) -> float:
        """Below 0: slower than it should be."""
        return math.log(self.measured / self.promised)


def healthy(expect: Expect) -> Healthy | None:
    """By the specification; None where it states nothing."""
    if expect.iops is None and expect.latency is None and expect.bandwidth is None:
        return None
    time = expect.latency_ns
    return Healthy(None if time is None else time / 1e9, expect.iops, expect.bytes_per_s, SPECIFICATION)


def known(case: Case, station: Station) -> Healthy | None:
    """By the specification, else by the same cells of an earlier run; None where neither says anything."""
    return healthy(station.layer.expect) or _as_it_was(case, station)


def _as_it_was(case: Case, station: Station) -> Healthy | None:
    before: dict[str, tuple[int, float]] = {}
    for cell in station.cells:
        told = case.analysis.reference(station.layer.name, cell.workload.key, ReferenceSource.BASELINE)
        if told is None or not (told.slower or told.fine) or not speaks_of(cell.workload):
            continue  # What the noise of either run hides promises nothing.
        w = cell.workload
        word = "bandwidth" if not w.rw.random else "latency" if w.outstanding == 1 else "iops"
        rate = told.iops.value * (w.bs_moments[0] if word == "bandwidth" else 1.0)
        before[word] = max(before.get(word, (0, 0.0)), (w.outstanding, rate))
    if not before:
        return None
    told_of = {word: rate for word, (_, rate) in before.items()}
    alone = told_of.get("latency")
    return Healthy(1 / alone if alone else None, told_of.get("iops"), told_of.get("bandwidth"), EARLIER)


def speaks_of(workload: Workload) -> bool:
    """Unbuffered reads in a closed loop: small ones at random, large ones in order."""
    size = workload.bs_moments[0]
    fits = SMALL[0] <= size <= SMALL[1] if workload.rw.random else size >= GROUND_SIZE
    return workload.saturates and workload.direct and not workload.rw.writes and fits


def of_one(cell: CellSummary) -> float:
    """Reads of the workload that one request at a device carries, mean: adjacent ones that wait for it are merged. 1
    where none was, or where that is not known.

    Of the devices that everything the workload reads comes from, the one that merges most.
    """
    least, most = ALL_OF_IT
    size = cell.workload.bs_moments[0]
    whole = (d for d in cell.resources.disks if d.reads and least <= (d.read_bytes_per_byte or 0.0) <= most)
    return max((1.0, *(d.read_bytes / d.reads / size for d in whole)))


def held(station: Station, promised: Healthy | None) -> tuple[ReferenceComparison, ...]:
    """The cells of a layer of which something is promised, in their order."""
    found = []
    for cell in station.cells if promised is not None else ():
        rate = promised.rate(cell.workload.outstanding, cell.workload.bs_moments[0]) if promised else None
        if speaks_of(cell.workload) and rate is not None and cell.iops.value > 0:
            found.append(ReferenceComparison(cell, rate, *_measured(cell)))
    return tuple(found)


def _measured(cell: CellSummary) -> tuple[float, float]:
    """(IOPS, standard error). With one outstanding by the median of its times: a machine that is busy holds up some
    requests for long, and a device is what most of them say; one whose quicker half is as uneven takes any time."""
    middle, quick = times.at(cell, 50), times.at(cell, 10)
    if cell.workload.outstanding > 1 or not middle or (quick and middle >= UNEVEN * quick):
        return cell.iops.value, sd_of(cell.iops)
    return units.NS_PER_S / middle, LEAST_SD


def grounds(case: Case) -> tuple[Station, ...]:
    """The layers that stand on nothing that was measured."""
    there = {s.layer.name for s in case.stations}
    return tuple(s for s in case.stations if not any(b.name in there for b in case.stack.stands_on(s.layer)))
