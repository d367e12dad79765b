"""Stalls of a remote layer, which no device counts, by the requests that meet them: as long as each other, whatever is
asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strata.diagnose import diagnose
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.finding import Diagnosis, VerdictKind
from strata.model.steadiness import Episodes, Steadiness, Tail

from .known import SCENES

SENT = "tcp_segments{direction=out,node=n1}"
AGAIN = "tcp_retransmitted_segments{node=n1}"
DELAY = "process_run_delay_seconds"
WHO = "node=n1,process=smbd"
"""Of its server."""
SLOW = Episodes(share=0.1, count=3, length_s=0.07, longest_s=0.08, factor=3.0)


LONG = SLOW.model_copy(update={"length_s": 0.24, "share": 0.4, "longest_s": 0.25, "factor": 25.0})


def said(
    late_ms: Callable[[CellSummary], float],
    share: float = 0.08,
    again: float = 0.0,
    waits: float = 0.02,
    late: float = 0.003,
    lost_by: str = "both",
    server: float | None = 0.1,
    slow: Episodes = SLOW,
) -> Diagnosis:
    """A path whose far requests take so long, with a share of the time of all of them."""
    scene = SCENES["healthy"]

    def met(cell: CellSummary) -> CellSummary:
        sends = lost_by == "both" or cell.workload.rw.writes == (lost_by == "writes")
        told = {SENT: 1000.0, AGAIN: again if sends else 0.0, DELAY: waits * cell.workload.outstanding}
        if server is not None:
            told |= {f"server_cpu_seconds{{mode=user,{WHO}}}": 0.3, f"server_run_delay_seconds{{{WHO}}}": server}
        alike = Steadiness(bin_s=0.05, bins=40, spread=0.1)
        if cell.layer != "path":
            return cell.model_copy(update={"counters": cell.counters | told, "steadiness": alike})
        ns = late_ms(cell) * 1e6
        tail = Tail(most=ns / 2.1e6, slowest_share=0.1, far_ios=late, far_time=share, far_ns=ns)
        return cell.model_copy(
            update={
                "counters": cell.counters | told,
                "steadiness": alike.model_copy(update={"slow": slow, "spread": 0.3}),
                "tail": tail,
                "curve": ((10.0, 2.0e6), (50.0, 2.1e6), (90.0, 2.3e6)),
            }
        )

    analysis = scene.analysis(seed=3, sd=0.02)
    return diagnose(scene.stack, analysis.model_copy(update={"cells": tuple(map(met, analysis.cells))}))


def always(_: CellSummary) -> float:
    return 50.0


def by_the_queue(cell: CellSummary) -> float:
    return 30.0 + 3.0 * cell.workload.outstanding


def any_length(cell: CellSummary) -> float:
    return 30.0 + cell.iops.value % 61


def test_requests_that_are_late_by_the_same_time_whatever_is_asked_met_a_stall() -> None:
    verdict = said(always).verdict
    assert (verdict.layer, verdict.cause) == ("path", Cause.STALLS)
    assert "50.0 ms" in verdict.headline
    # Whether the other end is still there is asked once in each stall, of which all outstanding requests wait.
    assert said(always, again=2.0).verdict.cause is Cause.STALLS


@pytest.mark.parametrize(
    "told",
    [
        pytest.param({"late_ms": any_length}, id="of any length: what a busy machine does by chance"),
        pytest.param({"late_ms": by_the_queue}, id="the longer the more wait"),
        pytest.param({"late_ms": always, "share": 0.005}, id="a single event"),
        pytest.param({"late_ms": always, "again": 10.0}, id="packets are lost"),
        pytest.param({"late_ms": always, "again": 3.0, "late": 0.001}, id="few are lost, one for each late request"),
        pytest.param({"late_ms": always, "again": 3.0, "late": 0.001, "lost_by": "writes"}, id="at one end alone"),
        pytest.param({"late_ms": always, "slow": LONG}, id="several follow each other: something is done in a phase"),
        pytest.param({"late_ms": always, "waits": 0.06}, id="the generator waits for a CPU"),
    ],
)
def test_what_is_no_stall_of_the_layer_is_not_told_as_one(told: dict[str, Any]) -> None:
    assert Cause.STALLS not in {f.cause for f in said(**told).findings}


def test_a_server_whose_cpu_time_is_not_counted_may_be_held_back_by_a_quota() -> None:
    """It runs and is held back in turns, which makes requests late by the same time, too."""
    found = said(always, server=None)
    assert found.verdict.kind is VerdictKind.INCONCLUSIVE and found.verdict.missing
    assert "some requests of path take 50.0 ms" in found.verdict.headline
