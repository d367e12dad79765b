"""What is measured before anything is compared: the noise floor, and what the devices do while nothing reaches them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import TypeVar

from strata.app.runner import Runner
from strata.engine import Timing
from strata.model.counters import Counter, blockdev
from strata.model.foreign_io import ForeignIo
from strata.model.placement import Placement
from strata.model.plan import Cell
from strata.model.run import NoiseProbe
from strata.model.series import Series
from strata.probes import PROBES, Sampler

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
        request = runner.request(cell, timing, repeat, placement)
        result = runner.driver.alone(cell.layer, request, runner.stop_requested)
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


WHOLE_S = 60.0
"""Between two samples: what counts is the growth from the first to the last."""

T = TypeVar("T")


def with_foreign_io(devices: Sequence[str], call: Callable[[], T]) -> tuple[T, tuple[ForeignIo, ...]]:
    """What ``call`` gives, and what ``devices`` did meanwhile. It must reach none of them itself."""
    sampler = Sampler(devices, WHOLE_S, {"blockdev": PROBES["blockdev"]}).start()
    try:
        made = call()
    finally:
        found = sampler.stop()
    return made, foreign_io(devices, found)


_MOVED = {
    "reads": blockdev.READS, "writes": blockdev.WRITES,
    "read_bytes": blockdev.READ_BYTES, "write_bytes": blockdev.WRITE_BYTES,
}  # fmt: skip
"""The rates without which nothing is said of a device."""


def foreign_io(devices: Sequence[str], found: Sequence[Series]) -> tuple[ForeignIo, ...]:
    """Of each device that was sampled at both ends."""
    rates = {(s.metric, s.labels["device"]): s for s in found if s.rate is not None}

    def of(counter: Counter, device: str) -> float | None:
        one = rates.get((counter.name, device))
        return None if one is None else one.rate

    made = []
    for device in devices:
        moved = {name: rate for name, counter in _MOVED.items() if (rate := of(counter, device)) is not None}
        if len(moved) < len(_MOVED):
            continue
        made.append(
            ForeignIo(
                device=device,
                seconds=rates[blockdev.READS.name, device].seconds,
                **moved,
                # The kernel counts it in ticks, of which a short look may hold one more than fits into it.
                busy=None if (busy := of(blockdev.IO_SECONDS, device)) is None else min(1.0, busy),
                in_flight=of(blockdev.WEIGHTED_SECONDS, device),
            )
        )
    return tuple(made)
