"""What is wrong with a medium: each fault by itself, swapped, without its specification, and on a loud machine."""

from __future__ import annotations

import pytest
from tiers import rest_in_ci

from strata.diagnose import diagnose, own_limits, propose
from strata.diagnose.case import Case
from strata.model.access import ByteRange, Zipf
from strata.model.analysis import Analysis, CellSummary
from strata.model.cause import Cause
from strata.model.expect import Expect
from strata.model.finding import VerdictKind
from strata.model.rw import Rw

from .mediums import (
    PROMISED,
    SILENT,
    Medium,
    analysed,
    carried_out,
    faulty,
    local_stack,
    run,
    said,
    simulate,
)

LOUD = {"noise": 0.06, "hiccup": 4.0}
FAULTS: tuple[tuple[Cause, dict[str, object]], ...] = (
    (Cause.SLOW_MEDIUM, {"service": 4.8e-3}),
    (Cause.SLOW_MEDIUM, {"service": 24e-3}),
    (Cause.LIMITED_QUEUE, {"servers": 3}),
    (Cause.LIMITED_QUEUE, {"servers": 1}),
    (Cause.IOPS_CAP, {"iops": 800.0}),
    (Cause.IOPS_CAP, {"iops": 100.0}),
    (Cause.BANDWIDTH_CAP, {"mbps": 60e6}),
    (Cause.BANDWIDTH_CAP, {"mbps": 8e6}),
    (Cause.STALLS, {"stall": (0.5, 0.06)}),
    (Cause.STALLS, {"stall": (0.5, 0.25)}),
    (Cause.SLOW_PHASES, {"phase": (0.4, 0.24), "factor": 3.0}),
    (Cause.SLOW_PHASES, {"phase": (0.4, 0.24), "factor": 30.0}),
    (Cause.SLOW_FLUSH, {"flush": 2e-3}),
    (Cause.SLOW_FLUSH, {"flush": 30e-3}),
    (Cause.WRITE_CACHE_FULL, {"write_cache": 2 << 20, "drain": 6e6}),
    (Cause.WRITE_CACHE_FULL, {"write_cache": 2 << 20, "drain": 1.5e6}),
    (Cause.SLOW_MEMBER, {"servers": 1, "members": 4, "lame": 3.0}),
    (Cause.SLOW_MEMBER, {"servers": 1, "members": 4, "lame": 15.0}),
    (Cause.NOISY_DEVICE, {"strangers": 6}),
    (Cause.NOISY_DEVICE, {"strangers": 64}),
)
OF_THE_SPECIFICATION = {Cause.SLOW_MEDIUM, Cause.LIMITED_QUEUE, Cause.IOPS_CAP, Cause.BANDWIDTH_CAP}
WHICH = [f"{cause.value}-{n}" for n, (cause, _) in enumerate(FAULTS)]


@pytest.mark.parametrize(("cause", "fault"), rest_in_ci(FAULTS, every_day=10), ids=WHICH)
def test_what_is_wrong_with_a_medium_is_named_at_its_layer(cause: Cause, fault: dict[str, object]) -> None:
    verdict = said(fault).verdict
    assert (verdict.layer, verdict.cause) == ("disk", cause), verdict.headline
    assert verdict.confidence >= 0.4 and not verdict.missing


@pytest.mark.parametrize(("cause", "fault"), rest_in_ci(FAULTS, every_day=2), ids=WHICH)
def test_on_a_loud_machine_nothing_else_is_named_with_confidence(cause: Cause, fault: dict[str, object]) -> None:
    verdict = said({**fault, **LOUD}, seed=2).verdict
    assert verdict.cause is cause or verdict.confidence < 0.5, verdict.headline


@pytest.mark.parametrize(("cause", "fault"), rest_in_ci(FAULTS, every_day=7), ids=WHICH)
def test_without_a_specification_only_what_the_medium_shows_by_itself_is_claimed(
    cause: Cause, fault: dict[str, object]
) -> None:
    found = said(fault, promised=False)
    named = {f.cause for f in found.findings}
    if cause in OF_THE_SPECIFICATION:
        assert not named & OF_THE_SPECIFICATION, found.verdict.headline
    else:
        assert found.verdict.cause is cause


@pytest.mark.parametrize("loud", [{}, LOUD], ids=["quiet", "loud"])
@pytest.mark.parametrize("seed", rest_in_ci([1, 2, 3], every_day=1))
def test_a_medium_that_keeps_its_promise_is_not_blamed(loud: dict[str, object], seed: int) -> None:
    found = said(loud, seed=seed)
    assert {f.cause for f in found.findings} <= {Cause.MEDIUM}
    if loud:
        assert found.verdict.kind in (VerdictKind.MEDIUM, VerdictKind.INCONCLUSIVE)
    else:
        assert found.verdict.kind is VerdictKind.MEDIUM and "as fast as specified" in found.verdict.next_step


def test_a_finding_says_what_it_predicts_of_each_slow_row() -> None:
    finding = said({"iops": 800.0}).findings[0]
    assert {row.cell for row in finding.rows} >= {"disk/randread-8KiB-qd32", "disk/read-128KiB-qd8"}
    for row in finding.rows:
        assert row.low * 0.95 <= row.measured <= row.high * 1.05 and row.share > 0.8


TOLD = [FAULTS[n] for n in (0, 1, 3, 5, 6, 7)]
"""Those that another read tells apart by a third and more: three servers of four and a cap near it differ by less."""


@pytest.mark.parametrize(("cause", "fault"), rest_in_ci(TOLD, every_day=2), ids=[str(fault) for _, fault in TOLD])
def test_an_experiment_tells_it_from_the_next_best_and_could_have_refuted_it(
    cause: Cause, fault: dict[str, object]
) -> None:
    analysis = analysed(fault)
    experiment = propose(PROMISED, analysis)
    assert experiment is not None and experiment.layer == "disk" and not experiment.workload.rw.writes
    first, second = experiment.predictions[:2]
    assert first.cause == cause.value and (first.high < second.low or second.high < first.low)
    before = diagnose(PROMISED, analysis).verdict
    kept = diagnose(PROMISED, analysis, (carried_out(experiment, faulty(**fault)),)).verdict
    assert kept.cause is cause and kept.confidence >= before.confidence
    other = Medium(iops=second.low, mbps=1e12) if first.low > second.high else Medium(service=3e-4, bytes_per_s=1e10)
    fell = diagnose(PROMISED, analysis, (carried_out(experiment, other),)).verdict
    assert fell.cause is not cause


def test_a_cap_is_refuted_by_any_read_that_passes_it() -> None:
    """Sequential small reads of which nothing is promised, twice as quick as the cap that the others seem to show."""
    analysis = analysed({"iops": 800.0})

    def quicker(key: str) -> float:
        return 2.0 if key == "read-8KiB-qd8" else 1.0

    cells = tuple(
        c.model_copy(
            update={
                "iops": c.iops.model_copy(
                    update={k: (getattr(c.iops, k) or 0) * quicker(c.workload.key) for k in ("value", "low", "high")}
                )
            }
        )
        for c in analysis.cells
    )
    own = own_limits.owns(Case(PROMISED, analysis.model_copy(update={"cells": cells})))[0]
    assert not own.limit(Cause.IOPS_CAP).acceptable


@pytest.mark.parametrize(("requests", "holds"), [(1.0, True), (1.3, False), (None, False)])
def test_a_cap_counts_what_was_merged_once(requests: float | None, holds: bool) -> None:
    """A stream gives 1.3 times the cap: as its reads are merged, or not; where that was not counted, nobody knows."""
    analysis = analysed({"iops": 100.0})

    def quicker(cell: CellSummary) -> CellSummary:
        if cell.workload.key != "read-8KiB-qd8":
            return cell
        rates = {
            field: rate.model_copy(update={k: (getattr(rate, k) or 0) * 1.3 for k in ("value", "low", "high")})
            for field, rate in (("iops", cell.iops), ("bytes_per_second", cell.bytes_per_second))
        }
        told = {} if requests is None else dict(cell.counters)
        for name, times in (("reads", requests), ("read_bytes", 1.3)):
            key = f"blockdev_{name}{{device=sim0}}"
            told |= {key: told[key] * (times or 1.0)} if key in told else {}
        return cell.model_copy(update={**rates, "counters": told})

    merged = analysis.model_copy(update={"cells": tuple(map(quicker, analysis.cells))})
    own = own_limits.owns(Case(PROMISED, merged))[0]
    assert own.limit(Cause.IOPS_CAP).acceptable is holds
    assert (diagnose(PROMISED, merged).verdict.cause is Cause.IOPS_CAP) is holds


def test_reads_of_one_size_do_not_show_that_requests_are_counted() -> None:
    analysis = analysed({"iops": 100.0})
    small = {c.workload.key for c in analysis.cells if c.workload.bs_moments[0] <= 8192}
    alone = analysis.model_copy(
        update={
            "cells": tuple(c for c in analysis.cells if c.workload.key in small),
            "comparisons": tuple(c for c in analysis.comparisons if c.workload_key in small),
        }
    )
    verdict = diagnose(PROMISED, alone).verdict
    assert verdict.cause is not Cause.IOPS_CAP or verdict.kind is VerdictKind.INCONCLUSIVE


def test_without_counters_of_the_device_a_neighbour_is_not_claimed_nor_is_anything_else_with_confidence() -> None:
    analysis = analysed({"strangers": 6})
    blind = tuple(c.model_copy(update={"counters": {}, "device_in_flight": None}) for c in analysis.cells)
    verdict = diagnose(PROMISED, analysis.model_copy(update={"cells": blind})).verdict
    assert verdict.cause is not Cause.NOISY_DEVICE and verdict.confidence < 0.8


@pytest.mark.parametrize(("servers", "alone", "named"), [(1, 0.05, True), (16, 0.4, False), (16, 1.1, False)])
def test_a_burst_above_a_limit_is_not_surely_a_cache(servers: int, alone: float, named: bool) -> None:
    """A volume with credit gives ten times its IOPS, and hardly takes less for one request than ever."""
    stack = local_stack(Expect(iops=300, latency="1ms", bandwidth="128MB/s"))
    verdict = diagnose(stack, simulate(stack, faulty(servers=servers, service=alone * 1e-3))).verdict
    assert verdict.cause is Cause.CACHE_FLATTERS
    assert (verdict.kind is VerdictKind.LAYER) is named and (named or verdict.confidence < 0.5)


@pytest.mark.parametrize(("disk", "part"), [("sim0", "sim0p3"), ("sda", "sda3")])
def test_who_uses_another_partition_of_the_disk_is_a_neighbour(disk: str, part: str) -> None:
    """The partition carries what was asked for, and nothing else."""
    analysis = analysed({"strangers": 64})

    def over(cell: CellSummary) -> CellSummary:
        told = {k.replace("device=sim0", f"device={disk}"): v for k, v in cell.counters.items()}
        own = {"reads": cell.iops.value, "writes": 0.0, "read_bytes": cell.bytes_per_second.value, "write_bytes": 0.0}
        told |= {f"blockdev_{k}{{device={part}}}": v for k, v in own.items()}
        told[f"blockdev_weighted_seconds{{device={part}}}"] = float(cell.workload.outstanding)
        return cell.model_copy(update={"counters": told, "devices": (part, disk), "carriers": (part,)})

    cells = tuple(map(over, analysis.cells))
    verdict = diagnose(PROMISED, analysis.model_copy(update={"cells": cells})).verdict
    assert verdict.cause is Cause.NOISY_DEVICE and disk in verdict.explanation


@pytest.mark.parametrize(
    ("fault", "sure"),
    [
        ({"members": 4, "lame": 6.0}, True),
        ({"cache": 0.5, "service": 9e-3, "way": 4e-4}, False),
        ({"cache": 0.6, "service": 9e-3, "way": 4e-4}, False),
    ],
)
def test_a_disk_behind_the_cache_of_a_far_server_is_not_surely_a_slow_member(
    fault: dict[str, object], sure: bool
) -> None:
    """Of two groups 22 times apart, where nobody sees members and nothing is promised."""
    analysis = analysed({"servers": 1, **fault}, promised=False)
    told = {"process_run_delay_seconds": 0.01}
    cells = tuple(c.model_copy(update={"counters": c.counters | told}) for c in analysis.cells)
    verdict = diagnose(SILENT, analysis.model_copy(update={"cells": cells})).verdict
    assert verdict.cause is Cause.SLOW_MEMBER and (verdict.confidence >= 0.8) is sure


@pytest.mark.parametrize(("until", "named"), [(79.0, True), (99.0, False)])
def test_a_slow_member_is_told_where_each_round_has_the_border_at_another_percentile(until: float, named: bool) -> None:
    """The curve is the mean of the rounds: the border is a slope. A tail that only grows is no group."""
    analysis = analysed({"servers": 1, "members": 4, "lame": 2.4})

    def smeared(cell: CellSummary) -> CellSummary:
        quick, slow = (next(ns for p, ns in cell.curve if p >= at) for at in (50, 90))
        part = {p: min(1.0, max(0.0, (p - 73.0) / (until - 73.0))) for p, _ in cell.curve}
        curve = tuple((p, quick * (slow / quick) ** part[p]) for p, _ in cell.curve)
        return cell.model_copy(update={"curve": curve}) if cell.workload.outstanding == 1 else cell

    cells = tuple(map(smeared, analysis.cells))
    found = diagnose(PROMISED, analysis.model_copy(update={"cells": cells}))
    assert (Cause.SLOW_MEMBER in {f.cause for f in found.findings}) is named


def test_percentiles_that_fall_are_no_groups_and_stop_no_diagnosis() -> None:
    """A run that was edited, or comes from elsewhere."""
    analysis = analysed({"servers": 1, "members": 4, "lame": 2.4})
    fallen = {p: 2e6 for p, _ in analysis.cells[0].curve} | {50.0: 1.2e6}
    cells = tuple(c.model_copy(update={"curve": tuple(fallen.items())}) for c in analysis.cells)
    found = diagnose(PROMISED, analysis.model_copy(update={"cells": cells}))
    assert Cause.SLOW_MEMBER not in {f.cause for f in found.findings}


@pytest.mark.parametrize(("limit", "cause"), [({"iops": 500.0}, Cause.IOPS_CAP), ({"mbps": 40e6}, Cause.BANDWIDTH_CAP)])
def test_a_limit_between_stalls_is_told_beside_them(limit: dict[str, object], cause: Cause) -> None:
    found = said({"stall": (0.5, 0.12), **limit})
    assert {f.cause for f in found.findings} == {Cause.STALLS, cause}


def test_stalls_of_a_layer_above_are_blamed_on_it() -> None:
    stalled = faulty(stall=(0.5, 0.12))
    analysis = simulate(PROMISED, faulty(), above={"file system": stalled})
    verdict = diagnose(PROMISED, analysis).verdict
    assert (verdict.layer, verdict.cause) == ("file system", Cause.STALLS)
    assert all(c.workload.rw in (Rw.RANDREAD, Rw.READ) for c in analysis.cells if c.layer == "disk")


def test_a_cache_that_answers_most_reads_flatters_and_one_that_answers_few_is_too_small() -> None:
    """Where nothing is promised both are only suspected: no verdict."""
    flatters = said({"service": 3.2e-3, "cache": 0.8})
    assert (flatters.verdict.layer, flatters.verdict.cause) == ("disk", Cause.CACHE_FLATTERS)
    for share, cause in ((0.8, Cause.CACHE_FLATTERS), (0.12, Cause.COLD_CACHE)):
        verdict = said({"service": 3.2e-3, "cache": share}, promised=False).verdict
        assert (verdict.kind, verdict.cause) == (VerdictKind.INCONCLUSIVE, cause) and verdict.missing


def test_beyond_the_largest_block_that_is_specified_a_device_may_carry_more() -> None:
    """Under a cap of 440 a device of 179 MB/s at 128 KiB gives 440 reads of 512 KiB, which is more."""
    capped = faulty(iops=440.0)
    analysis = simulate(PROMISED, capped)
    larger = next(c for c in analysis.cells if c.workload.key == "randread-8KiB-qd8").workload.resized(64)
    found = own_limits.other(Case(PROMISED, analysis), "disk", Cause.IOPS_CAP, larger)
    (cell,) = (c for c in simulate(PROMISED, capped, workloads=(larger,)).cells if c.layer == "disk")
    assert found is not None and found[0] <= cell.iops.value <= found[1] * 1.05


def throttled(analysis: Analysis, share: float, part: float) -> Analysis:
    """The device counts thermal throttling for ``share`` of the time in this part of the disk's workloads. Made up: no
    device here heats up on demand."""
    keys = [c.workload.key for c in analysis.cells if c.layer == "disk"]
    hot = set(keys[: round(part * len(keys))])
    cells = []
    for c in analysis.cells:
        told = {"nvme_throttled_seconds{device=nvme0n1}": share if c.workload.key in hot else 0.0}
        cells.append(c.model_copy(update={"counters": c.counters | told, "devices": ("nvme0n1",)}))
    return analysis.model_copy(update={"cells": tuple(cells)})


@pytest.mark.parametrize("fault", [{"service": 4.8e-3}, {"iops": 800.0}, {"mbps": 60e6}], ids=str)
def test_a_device_that_throttles_itself_is_hot_and_neither_slow_nor_capped(fault: dict[str, object]) -> None:
    hot = diagnose(PROMISED, throttled(analysed(fault), 1.0, 1.0)).verdict
    assert (hot.layer, hot.cause) == ("disk", Cause.HOT_MEDIUM) and 0.4 <= hot.confidence < 0.8 and not hot.missing
    for share, part in [(0.0, 1.0), (1.0, 0.3), (0.3, 1.0)]:
        assert diagnose(PROMISED, throttled(analysed(fault), share, part)).verdict.cause is said(fault).verdict.cause


@pytest.mark.parametrize("fault", [{}, {"service": 4.8e-3}], ids=str)
def test_what_heat_costs_is_not_claimed_without_a_cool_device_to_compare_with(fault: dict[str, object]) -> None:
    verdict = diagnose(SILENT, throttled(analysed(fault, promised=False), 1.0, 1.0)).verdict
    assert verdict.kind is VerdictKind.INCONCLUSIVE and verdict.confidence < 0.2
    assert any("specification" in what for what in verdict.missing)


def test_a_hot_device_that_gives_what_it_should_is_not_blamed() -> None:
    assert diagnose(PROMISED, throttled(analysed({}), 1.0, 1.0)).verdict.kind is VerdictKind.MEDIUM


def test_a_cache_that_answers_some_says_how_much_of_the_working_set_it_holds() -> None:
    analysis = run((("cache", 0.25),), False).model_copy(update={"data_bytes": 64 << 20})
    verdict = diagnose(SILENT, analysis).verdict
    assert verdict.cause is Cause.COLD_CACHE and "The working set is 64 MiB" in verdict.explanation
    assert "(for 64 MiB)" in verdict.next_step
    held = float(verdict.explanation.partition("holds about ")[2].partition(" MiB")[0])
    assert held == pytest.approx(16, rel=0.25)
    assert "working set" not in diagnose(SILENT, run((("cache", 0.25),), False)).verdict.explanation


def test_the_working_set_is_what_a_workload_asks_for_alike() -> None:
    analysis = run((), False).model_copy(update={"data_bytes": 64 << 20})
    whole = analysis.cells[0].workload
    part = whole.model_copy(update={"range": ByteRange(start=48 << 20, length=32 << 20)})
    hot = whole.model_copy(update={"order": Zipf(theta=1.2)})
    assert [analysis.working_set(w) for w in (whole, part, hot)] == [64 << 20, 16 << 20, None]
    assert run((), False).working_set(whole) is None


def test_one_workload_alone_shows_no_limit_of_a_file_system() -> None:
    """Of the reads that both layers have only the large ones stop there: whatever slows a workload has a rate."""
    analysis = simulate(PROMISED, faulty(), above={"file system": faulty(mbps=60e6)})
    verdict = diagnose(PROMISED, analysis).verdict
    assert (verdict.kind, verdict.cause) == (VerdictKind.INCONCLUSIVE, Cause.BANDWIDTH_CAP)
    assert verdict.explanation.startswith("1 workload stops at") and "a second workload" in " ".join(verdict.missing)
