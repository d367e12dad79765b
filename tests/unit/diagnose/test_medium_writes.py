"""Flushes and write caches of a medium: told apart by the size, the depth and the flush of the writes."""

from __future__ import annotations

import pytest

from strata.diagnose import diagnose, flushing, propose
from strata.diagnose.flushing import Flushed
from strata.model.analysis import Analysis, Check
from strata.model.cause import Cause
from strata.model.finding import VerdictKind
from strata.model.workload import Sync

from .mediums import (
    PROMISED,
    analysed,
    carried_out,
    faulty,
    said,
)


def test_a_slow_flush_is_told_by_the_same_writes_without_it() -> None:
    fault = faulty(flush=8e-3)
    analysis = analysed({"flush": 8e-3})
    experiment = propose(PROMISED, analysis)
    assert experiment is not None and experiment.workload.sync is Sync.NONE and experiment.layer == "file system"
    before = diagnose(PROMISED, analysis).verdict
    kept = diagnose(PROMISED, analysis, (carried_out(experiment, fault),)).verdict
    assert kept.cause is Cause.SLOW_FLUSH and kept.confidence > before.confidence
    fell = diagnose(PROMISED, analysis, (carried_out(experiment, faulty(service=24e-3)),)).verdict
    assert fell.cause is not Cause.SLOW_FLUSH


@pytest.mark.parametrize("drain", [1.5e6, 6e6])
def test_a_drain_is_told_by_larger_writes_that_move_the_same_bytes(drain: float) -> None:
    """A flush of one time would let as many of them pass."""
    fault = faulty(write_cache=2 << 20, drain=drain)
    analysis = analysed({"write_cache": 2 << 20, "drain": drain})
    before = diagnose(PROMISED, analysis)
    assert before.verdict.cause is Cause.WRITE_CACHE_FULL and before.verdict.confidence < 0.8
    experiment = propose(PROMISED, analysis)
    assert experiment is not None and experiment.key == "other-write"
    assert experiment.workload.bs > 8192 and experiment.layer == "file system"
    kept = diagnose(PROMISED, analysis, (carried_out(experiment, fault),)).verdict
    assert kept.cause is Cause.WRITE_CACHE_FULL and kept.confidence > 0.8
    fell = diagnose(PROMISED, analysis, (carried_out(experiment, faulty(flush=20e-3)),)).verdict
    assert fell.cause is not Cause.WRITE_CACHE_FULL or fell.confidence < 0.4


def test_a_drain_and_a_flush_of_one_time_are_told_apart_by_the_size_of_the_writes() -> None:
    drains, flushes = (said(f) for f in ({"write_cache": 2 << 20, "drain": 6e6}, {"flush": 2e-3}))
    assert Cause.SLOW_FLUSH not in {f.cause for f in drains.findings}
    assert Cause.WRITE_CACHE_FULL not in {f.cause for f in flushes.findings}


def of_one_size(analysis: Analysis, counted: bool = True) -> Analysis:
    """The same where writes of 128 KiB gave no result within their time, which is said; ``counted``: whether flushes of
    the device were."""
    lost = {c.workload.key for c in analysis.cells if c.workload.rw.writes and c.workload.bs > 8192}
    assert lost
    cells = []
    for c in analysis.cells:
        told = {k: v for k, v in c.counters.items() if counted or "flush" not in k}
        if c.workload.key not in lost:
            cells.append(c.model_copy(update={"counters": told}))
    failed = tuple(
        Check(
            kind="errors",
            layer="file system",
            workload_key=key,
            impossible=False,
            message="2 measurements failed: no I/O completed within 0.5 s",
        )
        for key in sorted(lost)
    )
    return analysis.model_copy(update={"cells": tuple(cells), "checks": (*analysis.checks, *failed)})


def sharing(analysis: Analysis, writes: float, faster: bool) -> Analysis:
    """At depth 8 a flush makes so many writes durable together, as file systems let them; ``faster``: it takes no
    longer for them, so that there are more of them."""
    cells = []
    for c in analysis.cells:
        if c.workload.rw.writes and c.workload.outstanding > 1:
            rate = c.iops.value * (writes if faster else 1)
            flushes = rate / writes
            told = {"blockdev_flushes{device=sim0}": flushes, "blockdev_flush_seconds{device=sim0}": 0.95}
            of = c.iops.model_copy(update={"value": rate, "low": 0.98 * rate, "high": 1.02 * rate})
            moved = {n: c.counters[n] * rate / c.iops.value for n in c.counters if "writes" in n or "write_bytes" in n}
            cells.append(c.model_copy(update={"iops": of, "counters": c.counters | moved | told}))
        else:
            cells.append(c)
    return analysis.model_copy(update={"cells": tuple(cells)})


def test_a_drain_and_a_flush_of_one_time_are_told_apart_by_the_depth_of_writes_of_one_size() -> None:
    """At depth 8 several writes share a flush: a drain takes longer for them, a flush of one time does not."""
    drains = sharing(of_one_size(analysed({"write_cache": 64 << 10, "drain": 1.3e6})), 3.4, faster=False)
    verdict = diagnose(PROMISED, drains).verdict
    assert (verdict.layer, verdict.cause) == ("disk", Cause.WRITE_CACHE_FULL) and verdict.confidence < 0.8
    assert "whatever their depth (8 KiB)" in verdict.explanation
    flushes = sharing(of_one_size(analysed({"flush": 30e-3})), 3.4, faster=True)
    assert diagnose(PROMISED, flushes).verdict.cause is Cause.SLOW_FLUSH
    # Something else keeps the rate at depth 8 where it is at depth 1: a flush that takes no longer drains nothing.
    shallow, deep = (next(c for c in flushes.cells if c.workload.key == f"randwrite-8KiB-qd{n}-dsync") for n in (1, 8))
    alike = deep.model_copy(update={"iops": shallow.iops})
    one = Flushed(shallow, 30e-3, 31e-3, 1.0, "sim0")
    assert flushing.by_bytes((one, Flushed(alike, 30e-3, 0.25, 1 / 3.4, "sim0"))) is None
    drained = flushing.by_bytes((one, Flushed(alike, 100e-3, 0.25, 1 / 3.4, "sim0")))
    assert drained == pytest.approx(8192 * shallow.iops.value)


def test_all_is_not_well_where_writes_are_far_slower_than_reads_and_nothing_tells_why() -> None:
    unread = of_one_size(analysed({"flush": 30e-3}), counted=False)
    verdict = diagnose(PROMISED, unread).verdict
    assert (verdict.kind, verdict.layer) == (VerdictKind.INCONCLUSIVE, "file system")
    assert "times slower than reads" in verdict.headline and verdict.missing


def test_a_medium_is_not_surely_as_expected_where_a_workload_gave_no_result() -> None:
    whole = said({}).verdict
    part = diagnose(PROMISED, of_one_size(analysed({}))).verdict
    assert (part.kind, part.cause) == (whole.kind, whole.cause) == (VerdictKind.MEDIUM, Cause.MEDIUM)
    assert part.confidence < min(0.8, whole.confidence) and "which gave no result" in " ".join(part.missing)
