"""What a medium seems to do while it is the machine under test that waits: neither is taken for the other."""

from __future__ import annotations

import pytest

from strata.diagnose import diagnose
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.finding import VerdictKind
from strata.model.rw import Rw
from strata.model.steadiness import Episodes, Steadiness

from .mediums import (
    PROMISED,
    analysed,
)


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


def test_a_generator_that_is_held_up_is_no_slow_member() -> None:
    """Its own pauses make a slow group of requests."""
    analysis = analysed({"servers": 1, "members": 4, "lame": 15.0})
    held = {"cgroup_periods{cgroup=/ours}": 10.0, "cgroup_throttled_periods{cgroup=/ours}": 9.0}
    cells = tuple(c.model_copy(update={"counters": c.counters | held}) for c in analysis.cells)
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
