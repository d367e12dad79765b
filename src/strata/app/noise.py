"""The noise floor, measured first: the same thing several times, before anything is compared."""

from __future__ import annotations

import statistics

from strata.app.runner import Runner
from strata.engine import Timing, prepare_cell, run_cell
from strata.model.placement import Placement
from strata.model.plan import Cell
from strata.model.run import NoiseProbe

REPEATS = 6
BIN_S = 0.05
"""Bins of 50 ms: on shared virtual machines equal bins were seen to differ by 15-25 %."""


def probe_noise(runner: Runner, cell: Cell, seconds: float, placement: Placement | None) -> NoiseProbe | None:
    """Repeat one measurement of ``seconds``; None when it was stopped or nothing was read."""
    timing = Timing(ramp_s=BIN_S, runtime_s=seconds, interval_s=BIN_S)
    rates: list[float] = []
    spreads: list[float] = []
    for repeat in range(REPEATS):
        if runner.stop_requested():
            return None
        prepared = prepare_cell(runner.request(cell, timing, repeat, placement))
        result = run_cell(runner.engine, prepared, None, runner.stop_requested)
        bins = [float(i.read.ops + i.write.ops) for i in result.intervals if i.end_ns - i.start_ns > BIN_S * 0.5e9]
        if not result.ops or len(bins) < 3:
            return None
        rates.append(result.iops)
        spreads.append(statistics.stdev(bins) / statistics.fmean(bins))
    middle = statistics.median(rates)
    mad = statistics.median(abs(r - middle) for r in rates)
    return NoiseProbe(
        layer=cell.layer,
        workload_key=cell.workload.key,
        repeats=REPEATS,
        seconds=seconds,
        bin_ns=round(BIN_S * 1e9),
        # 1.4826 makes the median absolute deviation estimate a standard deviation (normal distribution).
        between=1.4826 * mad / middle,
        within_bins=statistics.median(spreads),
        iops=middle,
    )
