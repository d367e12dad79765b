"""One measurement in the terminal: reads and writes apart, how far the times lie apart, and what is hidden and why."""

from __future__ import annotations

import pytest
from sample_report import build

from strata.model import histogram
from strata.model.estimate import Estimate
from strata.model.percentiles import BEYOND, PERCENTILES, needed, supported
from strata.model.result import Direction, EngineResult
from strata.report import figures, words
from strata.report.measure_text import measure_text


def direction(bins: dict[int, int]) -> Direction:
    return Direction(
        ops=sum(bins.values()), bytes=4096 * sum(bins.values()), service_time=histogram.from_bins(bins),
        service_sum_ns=sum(ns * n for ns, n in bins.items()),
    )  # fmt: skip


def text_of(read: Direction, write: Direction) -> str:
    ops = read.ops + write.ops
    result = EngineResult(
        engine={"kind": "io_uring"}, effective={}, started_unix_ns=1, ramp_ns=0, measured_ns=10**9,
        stop_reason="runtime", issued=ops, completed=ops, errored=0, stuck=0, read=read, write=write, intervals=(),
    )  # fmt: skip
    summary = build().analysis.cells[3].model_copy(update={"ios": ops, "latency_ns": {}})
    return measure_text(summary, "file:/x", 400, result=result).replace("\u202f", " ")


def test_a_mixed_workload_is_told_by_direction() -> None:
    said = text_of(direction({100_000: 900, 200_000: 300}), direction({1_000_000: 300, 2_000_000: 100}))
    reads, points, writes, others = said[said.index("  reads") :].splitlines()[:4]
    assert "1 200 IOPS · 4.69 MiB/s · mean 125 µs · sd 43.3 µs · min 100 µs · max 200 µs" in reads
    assert "p50 100 µs · p90 200 µs · p95 hidden: needs 2 000 I/Os · p99: 10 000" in points
    assert "400 IOPS · 1.56 MiB/s · mean 1.25 ms · sd 433 µs · min 1.00 ms · max 2.00 ms" in writes
    assert "p50 1.00 ms · p90 hidden: needs 1 000 I/Os" in others


def test_one_direction_is_not_told_twice_and_has_its_spread() -> None:
    said = text_of(direction({100_000: 900, 200_000: 300}), Direction(ops=0, bytes=0))
    assert "  reads" not in said
    assert "sd 43.3 µs · min 100 µs · max 200 µs" in said


@pytest.mark.parametrize("name", [*PERCENTILES, "99.999", "99.5", "12.5"])
def test_what_hides_a_percentile_says_what_it_needs(name: str) -> None:
    least = needed(name)
    assert supported([name], least) == (name,)
    assert supported([name], least - 1) == ()
    assert least * (1 - float(name) / 100) == pytest.approx(BEYOND, rel=0.01)


def test_hidden_percentiles_are_named_with_their_need() -> None:
    said = words.hidden(("50", "90", "95"), 2500).replace("\u202f", " ").replace("\u00a0", " ")
    assert said == "p99 hidden: needs 10 000 I/Os · p99.9: 100 000 · p99.99: 1 000 000"
    assert words.hidden(PERCENTILES, 10**7) == ""
    # Enough of them, but of one stall: the number is not what is missing.
    assert "few moments" in words.hidden(PERCENTILES[:3], 10**7, by_moments=True)


def test_a_wide_interval_is_told_by_its_ends_and_never_reaches_below_nothing() -> None:
    def error(low: float, high: float) -> str:
        return figures.share_error(Estimate(value=100.0, low=low, high=high, n=3, unit="IOPS"))

    assert error(98.8, 101.2) == "±1.2 %"
    assert error(86.0, 117.0) == "−14…+17 %"
    assert error(38.0, 263.0) == "−62…+163 %"
    assert error(0.0, 204.0) == "−100…+104 %"


def test_a_ratio_is_told_by_its_ends() -> None:
    def error(value: float, low: float, high: float) -> str:
        return figures.ratio_error(Estimate(value=value, low=low, high=high, n=3, unit="ratio"))

    assert error(1.02, 1.0, 1.04) == "1.00–1.04"
    assert error(0.0471, 0.0466, 0.0479) == ".046–.048"
    assert error(0.27, 0.083, 0.931) == ".08–.94"
    assert error(1.4, 0.5, 3.92) == ".50–3.92"
