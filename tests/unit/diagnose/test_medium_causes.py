"""What is wrong with a medium: each fault by itself, swapped, without its specification, and on a loud machine."""

from __future__ import annotations

from functools import lru_cache

import pytest
from tiers import rest_in_ci

from strata.diagnose import diagnose, flushing, own_limits, propose
from strata.diagnose.case import Case
from strata.diagnose.flushing import Flushed
from strata.model.access import ByteRange, Zipf
from strata.model.analysis import Analysis, CellSummary, Check
from strata.model.cause import Cause
from strata.model.expect import Expect
from strata.model.experiment import Experiment, Tried
from strata.model.finding import Diagnosis, VerdictKind
from strata.model.rw import Rw
from strata.model.steadiness import Episodes, Steadiness
from strata.model.workload import Sync

from .mediums import SPECIFIED, Medium, faulty, local_stack, simulate

PROMISED, SILENT = local_stack(SPECIFIED), local_stack(Expect())
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


@lru_cache(maxsize=64)
def run(fault: tuple[tuple[str, object], ...] = (), promised: bool = True, seed: int = 1) -> Analysis:
    return simulate(PROMISED if promised else SILENT, faulty(**dict(fault)), seed=seed)


def analysed(fault: dict[str, object], promised: bool = True, seed: int = 1) -> Analysis:
    return run(tuple(fault.items()), promised, seed)


def said(fault: dict[str, object], promised: bool = True, seed: int = 1) -> Diagnosis:
    return diagnose(PROMISED if promised else SILENT, analysed(fault, promised, seed))


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


def carried_out(experiment: Experiment, medium: Medium, seed: int = 7) -> Tried:
    """Both of its cells at a medium of this kind."""
    asked = next(w for w in run().cells if w.workload.key == experiment.reference).workload
    cells = simulate(PROMISED, medium, seed=seed, workloads=(asked, experiment.workload)).cells
    here = {c.workload.key: c for c in cells if c.layer == experiment.layer}
    return Tried(experiment=experiment, reference=here[asked.key], changed=here[experiment.workload.key])


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


@pytest.mark.parametrize(
    ("waits", "steal", "service", "named"),
    [(0.0, 0.0, 4.8e-3, True), (0.3, 0.0, 4.8e-3, False), (0.1, 0.2, 4.8e-3, False), (0.3, 0.0, 24e-3, True)],
)
def test_a_medium_is_not_slow_by_the_time_for_which_a_read_wants_a_processor(
    waits: float, steal: float, service: float, named: bool
) -> None:
    """Of the time that is added to one read at a time, half or more; of a much slower medium it is little."""
    analysis = analysed({"service": service})
    told = {"process_run_delay_seconds": waits}
    cells = tuple(
        c.model_copy(update={"counters": c.counters | told, "cpu_steal": steal})
        if c.workload.key == "randread-8KiB-qd1"
        else c
        for c in analysis.cells
    )
    found = diagnose(PROMISED, analysis.model_copy(update={"cells": cells}))
    assert (Cause.SLOW_MEDIUM in {f.cause for f in found.findings}) is named


def test_without_counters_of_the_device_a_neighbour_is_not_claimed_nor_is_anything_else_with_confidence() -> None:
    analysis = analysed({"strangers": 6})
    blind = tuple(c.model_copy(update={"counters": {}, "device_in_flight": None}) for c in analysis.cells)
    verdict = diagnose(PROMISED, analysis.model_copy(update={"cells": blind})).verdict
    assert verdict.cause is not Cause.NOISY_DEVICE and verdict.confidence < 0.8


@pytest.mark.parametrize(("at_the_device", "named"), [(0.1, True), (0.0, False)])
def test_stalls_are_the_generators_where_it_waited_for_a_processor_and_the_device_did_not_stand_still(
    at_the_device: float, named: bool
) -> None:
    analysis = analysed({"stall": (0.5, 0.06)})
    told = {"process_run_delay_seconds": 0.12, "blockdev_stalled_seconds{device=sim0}": at_the_device}
    cells = tuple(c.model_copy(update={"counters": c.counters | told, "devices": ("sim0",)}) for c in analysis.cells)
    found = diagnose(PROMISED, analysis.model_copy(update={"cells": cells}))
    assert (Cause.STALLS in {f.cause for f in found.findings}) is named


@pytest.mark.parametrize(
    ("waits", "steal", "named"), [(0.02, 0.02, True), (0.02, 0.1, True), (0.02, 0.4, False), (None, 0.2, False)]
)
def test_a_guest_that_its_host_stops_has_no_disk_that_stalls(waits: float | None, steal: float, named: bool) -> None:
    """A burst credit that is used up, or a quota of the virtual CPU: the counters stand still as well."""
    analysis = analysed({"stall": (0.5, 0.06)})
    told = {} if waits is None else {"process_run_delay_seconds": waits}
    cells = tuple(
        c.model_copy(update={"counters": c.counters | told, "cpu_steal": steal, "devices": ("sim0",)})
        for c in analysis.cells
    )
    found = diagnose(PROMISED, analysis.model_copy(update={"cells": cells}))
    assert (Cause.STALLS in {f.cause for f in found.findings}) is named
    if not named:
        assert (
            found.verdict.kind is VerdictKind.INCONCLUSIVE and "host of this machine stops it" in found.verdict.headline
        )


@pytest.mark.parametrize(
    ("stalled", "others", "named"), [(0.02, 0.001, False), (0.02, None, False), (0.02, 0.02, True), (0.001, 0.0, True)]
)
def test_a_network_device_that_waits_for_lost_packets_does_not_stall(
    stalled: float, others: float | None, named: bool
) -> None:
    """An iSCSI disk of the kernel: its connections are this machine's. What is lost beside all workloads is not its."""
    analysis = analysed({"stall": (0.5, 0.06)})

    def sending(cell: CellSummary) -> CellSummary:
        quiet = cell.workload.rw is Rw.RANDREAD and cell.workload.outstanding == 8
        again = others if quiet else stalled
        if quiet:
            assert cell.steadiness is not None
            cell = cell.model_copy(update={"steadiness": cell.steadiness.model_copy(update={"stalls": None})})
        told = {} if again is None else {"tcp_segments{direction=out}": 5e3, "tcp_retransmitted_segments": 5e3 * again}
        return cell.model_copy(update={"counters": cell.counters | told})

    cells = tuple(map(sending, analysis.cells))
    found = diagnose(PROMISED, analysis.model_copy(update={"cells": cells}))
    assert (Cause.STALLS in {f.cause for f in found.findings}) is named


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


def test_a_generator_that_is_held_up_is_no_slow_member() -> None:
    """Its own pauses make a slow group of requests."""
    analysis = analysed({"servers": 1, "members": 4, "lame": 15.0})
    held = {"cgroup_periods{cgroup=/ours}": 10.0, "cgroup_throttled_periods{cgroup=/ours}": 9.0}
    cells = tuple(c.model_copy(update={"counters": c.counters | held}) for c in analysis.cells)
    found = diagnose(PROMISED, analysis.model_copy(update={"cells": cells}))
    assert Cause.SLOW_MEMBER not in {f.cause for f in found.findings}


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


def test_who_serves_more_of_the_slow_ones_the_more_wait_is_no_slow_member() -> None:
    """A server that waits for a CPU now and then: whatever is there waits, and a deeper queue gives more."""
    analysis = analysed({"servers": 1, "members": 4, "lame": 15.0})
    deep = "disk/randread-8KiB-qd32"
    assert any(r.cell == deep for r in diagnose(PROMISED, analysis).findings[0].rows)
    cells = tuple(
        c.model_copy(update={"iops": c.iops.model_copy(update={"value": 4 * c.iops.value})})
        if f"{c.layer}/{c.workload.key}" == deep
        else c
        for c in analysis.cells
    )
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


@pytest.mark.parametrize("own_fault", [False, True])
def test_all_is_not_well_where_only_writes_that_no_layer_below_was_measured_with_stop_at_times(own_fault: bool) -> None:
    """Nothing tells whose stalls they are, and what the layers share says nothing of them; unless the generator waited
    for a processor meanwhile."""
    analysis = analysed({})
    stop = Episodes(share=0.2, count=2, length_s=0.084, longest_s=0.085)
    steady = Steadiness(bin_s=0.02, bins=50, spread=0.4, drift=None, stalls=stop)
    held = {"process_run_delay_seconds": 0.15} if own_fault else {}
    cells = tuple(
        c.model_copy(update={"steadiness": steady, "counters": c.counters | held})
        if c.workload.key == "randwrite-8KiB-qd8-dsync"
        else c
        for c in analysis.cells
    )
    assert any(c.steadiness == steady for c in cells)
    assert diagnose(PROMISED, analysis).verdict.kind is VerdictKind.MEDIUM
    verdict = diagnose(PROMISED, analysis.model_copy(update={"cells": cells})).verdict
    assert verdict.kind is (VerdictKind.MEDIUM if own_fault else VerdictKind.INCONCLUSIVE)
    assert own_fault or (verdict.layer == "file system" and "84.0 ms" in verdict.explanation and verdict.missing)


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


@pytest.mark.parametrize(("noise", "blamed"), [(0.05, True), (0.19, True), (0.25, False)])
def test_a_machine_that_holds_things_up_blames_no_layer_without_a_cause(noise: float, blamed: bool) -> None:
    """One read at a time is far slower than promised, all others are as they should be: no limit does that."""
    analysis = analysed({})
    cells = []
    for cell in analysis.cells:
        alone = cell.workload.outstanding == 1 and not cell.workload.rw.writes
        slow = {
            k: None if v is None else v * 0.35
            for k, v in (("value", cell.iops.value), ("low", cell.iops.low), ("high", cell.iops.high))
        }
        cells.append(
            cell.model_copy(update={"iops": cell.iops.model_copy(update=slow), "curve": ()}) if alone else cell
        )
    loud = analysis.noise.model_copy(update={"between_rounds": noise})
    found = diagnose(PROMISED, analysis.model_copy(update={"cells": tuple(cells), "noise": loud}))
    assert any(f.cause is Cause.UNEXPLAINED and f.layer == "disk" for f in found.findings) is blamed
