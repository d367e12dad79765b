"""The noise floor, measured first: the same thing several times, before anything is compared."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from strata.engine import Engine, Request, Timing, prepare_cell, run_cell
from strata.model.endpoint import Endpoint
from strata.model.placement import Placement
from strata.model.plan import Segment
from strata.model.run import NoiseProbe
from strata.model.workload import Workload

REPEATS = 6
BIN_S = 0.05
"""Bins of 50 ms: on shared virtual machines equal bins were seen to differ by 15-25 %."""


def probe_noise(
    engine: Engine,
    layer: str,
    endpoint: Endpoint,
    workload: Workload,
    segments: tuple[Segment, ...],
    seconds: float,
    stop_requested: Callable[[], bool],
    placement: Placement | None = None,
) -> NoiseProbe | None:
    """Repeat one measurement of ``seconds``; None when it was stopped or nothing was read."""
    timing = Timing(ramp_s=BIN_S, runtime_s=seconds, interval_s=BIN_S)
    rates: list[float] = []
    spreads: list[float] = []
    for repeat in range(REPEATS):
        if stop_requested():
            return None
        request = Request(
            endpoint=endpoint,
            workload=workload,
            segments=segments,
            timing=timing,
            round_index=repeat,
            placement=placement,
        )
        result = run_cell(engine, prepare_cell(request), None, stop_requested)
        bins = [float(i.read.ops + i.write.ops) for i in result.intervals if i.end_ns - i.start_ns > BIN_S * 0.5e9]
        if not result.ops or len(bins) < 3:
            return None
        rates.append(result.iops)
        spreads.append(statistics.stdev(bins) / statistics.fmean(bins))
    middle = statistics.median(rates)
    mad = statistics.median(abs(r - middle) for r in rates)
    return NoiseProbe(
        layer=layer,
        workload_key=workload.key,
        repeats=REPEATS,
        seconds=seconds,
        bin_ns=round(BIN_S * 1e9),
        # 1.4826 makes the median absolute deviation estimate a standard deviation (normal distribution).
        between=1.4826 * mad / middle,
        within_bins=statistics.median(spreads),
        iops=middle,
    )
