"""Data on too few members, too few queues, and a medium that is compared with what it was."""

from __future__ import annotations

import pytest
from tiers import rest_in_ci

from strata.diagnose import diagnose
from strata.model.analysis import Analysis, CellSummary
from strata.model.cause import Cause
from strata.model.estimate import Estimate
from strata.model.expect import Expect
from strata.model.finding import VerdictKind
from strata.model.reference import Reference, ReferenceSource
from strata.model.stack import Layer, Stack

from . import mediums
from .mediums import faulty, local_stack
from .queueing import Path
from .scenes import simulate

SILENT = local_stack(Expect())
MEMBERS = ("nbd0", "nbd1", "nbd2")


def spread(analysis: Analysis, shares: tuple[float, ...]) -> Analysis:
    """The same run on a disk of several devices that are read in these shares."""

    def over(cell: CellSummary) -> CellSummary:
        told = {k: v for k, v in cell.counters.items() if not k.startswith("blockdev_")}
        for name, share in zip(names, shares, strict=True):
            rate = cell.iops.value * share
            each = {"reads": rate, "writes": 0.0, "read_bytes": rate * cell.workload.bs, "write_bytes": 0.0}
            each |= {"io_seconds": min(1.0, 2 * share), "read_seconds": rate * 2.5e-3}
            told |= {f"blockdev_{k}{{device={name}}}": v for k, v in each.items()}
        return cell.model_copy(update={"counters": told, "devices": names, "carriers": names})

    names = MEMBERS[: len(shares)]
    return analysis.model_copy(update={"cells": tuple(map(over, analysis.cells))})


@pytest.mark.parametrize(
    ("shares", "named"),
    [((1.0, 0.0, 0.0), True), ((0.48, 0.48, 0.04), True), ((0.3, 0.3, 0.4), False), ((0.34, 0.33, 0.33), False)],
)
def test_data_on_fewer_members_than_there_are_is_told_by_what_they_read(shares: tuple[float, ...], named: bool) -> None:
    analysis = spread(mediums.simulate(SILENT, faulty(servers=1)), shares)
    verdict = diagnose(SILENT, analysis).verdict
    assert (verdict.cause is Cause.FEW_NODES) is named, verdict.headline
    if named:
        assert verdict.layer == "disk" and "Rebalance the data" in verdict.next_step


@pytest.mark.parametrize(
    ("written", "named"), [((1.0, 1.0, 0.0), False), ((1.1, 1.0, 0.02), False), ((1.0, 0.0, 0.0), True)]
)
def test_two_copies_on_more_members_are_where_they_are_to_be(written: tuple[float, ...], named: bool) -> None:
    """btrfs keeps both copies of a file in one chunk, and one thread reads one of them."""
    analysis = spread(mediums.simulate(SILENT, faulty(servers=1)), (1.0, 0.0, 0.0))

    def kept(cell: CellSummary) -> CellSummary:
        if not cell.workload.rw.writes:
            return cell
        each = {f"blockdev_write_bytes{{device={n}}}": w for n, w in zip(MEMBERS, written, strict=True)}
        told = {k: w * cell.bytes_per_second.value for k, w in each.items()}
        return cell.model_copy(update={"counters": cell.counters | told})

    cells = tuple(map(kept, analysis.cells))
    verdict = diagnose(SILENT, analysis.model_copy(update={"cells": cells})).verdict
    assert (verdict.cause is Cause.FEW_NODES) is named, verdict.headline


@pytest.mark.parametrize(
    ("shares", "stated", "named"),
    [
        ((0.5, 0.5), 3, True),
        ((0.5, 0.5), 2, False),
        ((0.5, 0.5), None, False),
        ((1.0,), 2, False),
        ((0.2, 0.2), 3, False),
    ],
)
def test_data_on_fewer_members_than_the_stack_says_is_named_where_these_limit(
    shares: tuple[float, ...], stated: int | None, named: bool
) -> None:
    """A single device may be many behind a controller; members that have time left are not what limits."""
    stack = local_stack(Expect(members=stated))
    verdict = diagnose(stack, spread(mediums.simulate(stack, faulty(servers=1)), shares)).verdict
    assert (verdict.cause is Cause.FEW_NODES) is named, verdict.headline
    if named:
        assert verdict.layer == "disk" and f"of {stated} members" in verdict.headline


def test_a_number_that_is_stated_hides_no_member_that_does_it_all() -> None:
    stack = local_stack(Expect(members=4))
    analysis = spread(mediums.simulate(stack, faulty(servers=1)), (0.98, 0.01, 0.01))
    assert diagnose(stack, analysis).verdict.cause is Cause.FEW_NODES


QUEUES = Stack(
    name="queues",
    layers=(
        Layer(name="store", endpoint="nbd://127.0.0.1:1/store?connections=4"),
        Layer(name="one queue", endpoint="nbd://127.0.0.1:2/disk", on=("store",)),
        Layer(name="four queues", endpoint="nbd://127.0.0.1:2/disk?connections=4", on=("store",)),
    ),
)


@pytest.mark.parametrize("both", [False, True], ids=["one is slow", "both are"])
def test_too_few_queues_are_told_by_the_same_path_with_more(both: bool) -> None:
    few, all_of_them = Path(servers=2, base=60e-6), Path(servers=8, base=60e-6)
    paths = {"store": Path(servers=8, base=20e-6), "one queue": few, "four queues": few if both else all_of_them}
    found = diagnose(QUEUES, simulate(QUEUES, paths, seed=1, sd=0.03))
    causes = {(f.layer, f.cause) for f in found.findings}
    assert (("one queue", Cause.FEW_QUEUES) in causes) is not both, causes
    assert ("four queues", Cause.FEW_QUEUES) not in causes


def remembered(now: Analysis, before: Analysis, wide: float = 1.05) -> Analysis:
    """With every cell compared with what it was, to so many times as far as that is known of whole runs."""
    told = []
    for cell in now.cells:
        was = before.summary(cell.layer, cell.workload.key)
        assert was is not None
        ratio = cell.iops.value / was.iops.value
        told.append(
            Reference(
                layer=cell.layer,
                workload_key=cell.workload.key,
                source=ReferenceSource.BASELINE,
                of="run 1",
                iops=was.iops,
                ratio=Estimate(value=ratio, low=ratio / wide, high=ratio * wide, n=2, unit="ratio"),
                allowance=0.15,
            )
        )
    return now.model_copy(update={"references": tuple(told)})


def scaled(run: Analysis, factors: dict[str, float]) -> Analysis:
    """The same run with so many times the IOPS, by the workload."""

    def as_it_is(cell: CellSummary) -> CellSummary:
        times, names = factors.get(cell.workload.key, 1.0), ("value", "low", "high")
        iops = cell.iops.model_copy(update={n: v * times for n in names if (v := getattr(cell.iops, n))})
        return cell.model_copy(update={"iops": iops})

    return run.model_copy(update={"cells": tuple(map(as_it_is, run.cells))})


def cooled(hits: float, writes: float, warms: float, quick: float, wide: float = 1.05) -> set[Cause]:
    """What is told of a medium whose cache gave ``hits`` times the reads: the first ones now find it cold, the others
    ``warms`` times as much. Writes do ``writes`` of what they did, at ``quick`` times the medium's rate.
    """
    medium = mediums.simulate(SILENT, faulty(), seed=3)
    keys = {c.workload.key: c.workload.rw.writes for c in medium.cells}
    first = next(key for key, writing in keys.items() if not writing)
    before = {key: quick if writing else hits for key, writing in keys.items()}
    now = {key: quick * writes if writing else warms for key, writing in keys.items()} | {first: 1.0}
    verdict = diagnose(SILENT, remembered(scaled(medium, now), scaled(medium, before), wide))
    return {f.cause for f in verdict.findings if f.cause is not None}


@pytest.mark.parametrize("warms", rest_in_ci([1.0, 8.0], every_day=1))
@pytest.mark.parametrize(
    ("hits", "writes", "quick", "cold"),
    [
        (30.0, 1.0, 1.0, True),
        (30.0, 0.05, 1.0, False),  # the medium itself
        (30.0, 1.0, 50.0, False),  # writes end in a cache of their own: of the medium nothing is known
        (1.1, 1.0, 1.0, False),
    ],
)
def test_reads_that_lost_a_cache_are_slower_than_they_were_and_durable_writes_are_not(
    hits: float, writes: float, quick: float, cold: bool, warms: float
) -> None:
    """Also while it warms up again: the first reads are slowest."""
    found = cooled(hits, writes, min(warms, hits / 2) if hits > 2 else 1.0, quick)
    assert (Cause.COLD_CACHE in found) is cold, found


@pytest.mark.parametrize(("hits", "writes", "cold"), [(30.0, 1.0, True), (30.0, 0.05, False), (1.6, 1.0, False)])
def test_what_whole_runs_differ_by_is_in_reads_and_writes_alike(hits: float, writes: float, cold: bool) -> None:
    """Beside others runs differ by several times: the reads are held against the writes of the same two runs."""
    found = cooled(hits, writes, 1.0, 1.0, wide=4.0)
    assert (Cause.COLD_CACHE in found) is cold, found


def test_an_earlier_run_that_is_too_noisy_promises_nothing() -> None:
    before = mediums.simulate(SILENT, faulty(), seed=3)
    now = remembered(mediums.simulate(SILENT, faulty(servers=1), seed=4), before)
    wide = [
        r.model_copy(update={"ratio": r.ratio.model_copy(update={"low": r.ratio.value / 9, "high": r.ratio.value * 9})})
        for r in now.references
    ]
    found = diagnose(SILENT, now.model_copy(update={"references": tuple(wide)})).findings
    assert all("earlier run" not in e.statement for f in found for e in f.evidence)


@pytest.mark.parametrize(
    ("fault", "cause"),
    rest_in_ci(
        [
            ({"service": 5.5e-3}, Cause.SLOW_MEDIUM),
            ({"servers": 1}, Cause.LIMITED_QUEUE),
            ({"iops": 120.0}, Cause.IOPS_CAP),
            ({"mbps": 50e6}, Cause.BANDWIDTH_CAP),
            ({}, None),
        ],
        every_day=2,
    ),
)
def test_a_medium_is_held_against_what_it_was(fault: dict[str, object], cause: Cause | None) -> None:
    before = mediums.simulate(SILENT, faulty(), seed=3)
    now = mediums.simulate(SILENT, faulty(**fault), seed=4)
    found = diagnose(SILENT, remembered(now, before))
    verdict = found.verdict
    if cause is None:
        assert verdict.kind is VerdictKind.MEDIUM
    else:
        assert (verdict.layer, verdict.cause) == ("disk", cause), verdict.headline
        assert any("its earlier run" in e.statement for e in found.findings[0].evidence)
