"""What the comparison of layers says, before anything is named."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property

from pydantic import Field

from strata.model.access import Zipf, Zones
from strata.model.base import Value, sparse
from strata.model.caching import Caching
from strata.model.counters import Readings
from strata.model.ends import CycleCost, Flow, LatencySplit
from strata.model.estimate import Estimate
from strata.model.foreign_io import ForeignIo
from strata.model.profile import GoalResult
from strata.model.reference import Reference, ReferenceSource
from strata.model.resources import Resources
from strata.model.result import CellResult
from strata.model.steadiness import Steadiness, Tail
from strata.model.survey import Device
from strata.model.trace import TraceSummary
from strata.model.workload import Workload


class Equivalence(StrEnum):
    """A layer against the layer below it, compared with the expected overhead."""

    WITHIN = "within"
    ABOVE = "above"
    FASTER = "faster"
    CANNOT_TELL = "cannot tell"


class NoiseFloor(Value):
    """How much equal measurements differ here. Relative standard deviations (0.02 = two percent).

    ``between_rounds`` is pooled over cells from their rounds; ``within_bins`` is the spread of the intervals
    inside one measurement; ``tolerance`` is what the ratio of two equal cells exceeds by chance in one case of twenty.
    """

    between_rounds: float
    within_bins: float
    tolerance: float
    rounds: int
    cells: int


class CellSummary(Value):
    """One workload at one layer over all its rounds.

    ``latency_ns`` maps a percentile ("50", "90", "99", "99.9") to its estimate, only where the samples support
    it (at least 100 I/Os beyond it in all). ``curve`` is the merged distribution as (percentile 0..100, ns).
    ``outstanding`` is X·R from measured X and R. ``counters`` are per-second rates and means as they are kept,
    to be asked through ``readings``; absent ones are absent.
    """

    layer: str
    workload: Workload
    rounds: int
    ios: int
    iops: Estimate
    bytes_per_second: Estimate
    mean_ns: Estimate
    latency_ns: dict[str, Estimate]
    curve: tuple[tuple[float, float], ...]
    outstanding: float
    cpu_busy: float | None = None
    cpu_busiest: float | None = None
    cpu_steal: float | None = None
    engine_cpu_ns_per_io: float | None = None
    engine_user_ns_per_io: float | None = None
    engine_system_ns_per_io: float | None = None
    device_read_bytes_per_byte: float | None = None
    device_in_flight: float | None = None
    device_busy_ns_per_io: float | None = None
    wire_bytes_per_byte: float | None = None
    errors: int = 0
    caching: tuple[Caching, ...] = ()
    """Asked and in force in each round."""
    counters: dict[str, float] = {}
    timeline: tuple[tuple[int, float, float], ...] = ()
    """(round, seconds from the start of the run, IOPS of that interval)."""
    flushes: int = sparse(0)
    """Flushes that were counted; they are no part of ``ios``."""
    flows: tuple[Flow, ...] = sparse(())
    """Bytes at each place of the path for each byte the application moved."""
    devices: tuple[str, ...] = sparse(())
    """The block devices that the layer's requests reach, upper before lower."""
    carriers: tuple[str, ...] = sparse(())
    """Those of ``devices`` that the data lies on itself: one, or several that share it."""
    cycles: tuple[CycleCost, ...] = sparse(())
    splits: tuple[LatencySplit, ...] = sparse(())
    """client = wire + server, where the far end told its times."""
    notes: tuple[str, ...] = sparse(())
    """Where the bytes do not add up, and steps of the wall clock."""
    absent: tuple[str, ...] = sparse(())
    """Counters that could not be read in any round, and why."""
    flush_ns: dict[str, float] = sparse({})
    """Times of the flushes over all rounds: ``mean``, and the percentiles that their number supports."""
    traces: tuple[TraceSummary, ...] = sparse(())
    """What reached the devices in an extra window, the upper device first."""
    steadiness: Steadiness | None = sparse(None)
    """Over its time, where it was cut finely enough."""
    tail: Tail | None = sparse(None)

    @property
    def name(self) -> str:
        """``<layer>/<workload key>``, as in a plan."""
        return f"{self.layer}/{self.workload.key}"

    @cached_property
    def readings(self) -> Readings:
        """The cell's counters, to be asked by what they are."""
        return Readings(self.counters)

    @cached_property
    def resources(self) -> Resources:
        """What its counters say of each resource of the path: how busy, what each I/O asked of it, what waited."""
        return Resources(self.readings, self.iops.value, self.bytes_per_second.value)


def edge_share(cell: CellSummary, results: Iterable[CellResult]) -> float | None:
    """The time of the cell's longest I/O as a share of its shortest repetition; None where neither was measured.

    ``results`` are those of the cell. An I/O that began before the measured span counts whole in it.
    """
    spans = [one.result.measured_ns for one in results if one.result is not None and one.result.measured_ns > 0]
    return cell.curve[-1][1] / min(spans) if spans and cell.curve else None


class Comparison(Value):
    """One workload at one layer against the layer below; ratios are layer ÷ below.

    ``iops`` below 1 is slower; a latency ratio above 1 is slower. ``expected_overhead`` is the allowance that was
    stated, ``allowance`` what ``verdict``, the equivalence test on IOPS, held the interval against: the same, in runs
    of earlier versions widened by the noise. ``unserved``: in the time of one of the cells not even those I/Os were
    completed that are kept outstanding; further rounds as short tell no more.
    """

    layer: str
    below: str
    workload_key: str
    iops: Estimate
    latency: dict[str, Estimate]
    added_ns: Estimate
    expected_overhead: float
    allowance: float
    verdict: Equivalence
    unserved: bool = False

    @property
    def line(self) -> float:
        """The least ratio that is still allowed."""
        return 1 - self.allowance


SAMPLES, THREADS, UNSTEADY = "samples", "threads", "unsteady"
"""The laws of which a report shows more than their words."""


class Check(Value):
    """A law that did not hold. ``impossible`` means: the figure cannot be true; else it is a caveat.

    ``kind`` is the law's key, ``title`` its heading (the key in runs that were kept before laws brought their own).
    """

    kind: str
    title: str = Field(default_factory=lambda told: str(told["kind"]).replace("-", " "))
    layer: str
    workload_key: str | None
    impossible: bool
    message: str
    next_step: str = ""
    """What the law says to do first; empty in runs that were kept before it did."""


class Generator(Value):
    """The engine against a null endpoint, measured before everything else: its own cost and its ceiling.

    ``ns_per_io`` and ``iops`` by workload key (an entry for each distinct depth and size).
    """

    iops: dict[str, float]
    ns_per_io: dict[str, float]


class Remote(Value):
    """What probing a remote endpoint without touching data showed: round trips in ns."""

    layer: str
    rtt_ns: Estimate
    min_rtt_ns: float
    multi_conn: bool
    connections: int


class Analysis(Value):
    """Everything the diagnosis may look at."""

    noise: NoiseFloor
    cells: tuple[CellSummary, ...]
    comparisons: tuple[Comparison, ...]
    checks: tuple[Check, ...]
    generator: Generator | None = None
    remotes: tuple[Remote, ...] = ()
    foreign: tuple[ForeignIo, ...] = sparse(())
    """What the devices did while nothing of ours ran."""
    goals: tuple[GoalResult, ...] = sparse(())
    devices: tuple[Device, ...] = sparse(())
    """What the survey knows of the block devices under the test file, upper before lower."""
    references: tuple[Reference, ...] = sparse(())
    """Cells against what they should give: a specification's before an earlier run's."""
    data_bytes: int | None = sparse(None)
    """Of the data that all layers reach; None in runs of earlier versions, and where figures were brought."""

    def working_set(self, workload: Workload) -> int | None:
        """Bytes that the workload asks for alike, all of which a cache has to hold to answer it; None where that is not
        known."""
        if isinstance(workload.order, Zipf | Zones) or self.data_bytes is None:
            return None
        part, end = workload.range, self.data_bytes
        if part is None:
            return end
        return max(0, min(end, end if part.length is None else part.start + part.length) - part.start)

    def reference(self, layer: str, workload_key: str, source: ReferenceSource | None = None) -> Reference | None:
        """What the cell is compared with, its specification first; None where nothing is known."""
        known = (r for r in self.references if (r.layer, r.workload_key) == (layer, workload_key))
        return next((r for r in known if source in (None, r.source)), None)

    def summary(self, layer: str, workload_key: str) -> CellSummary | None:
        """The summary of one cell, None where it was not measured."""
        return next((c for c in self.cells if (c.layer, c.workload.key) == (layer, workload_key)), None)
