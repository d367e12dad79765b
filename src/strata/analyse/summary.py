"""One workload at one layer, over all its rounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strata.analyse import counters, ends, flows
from strata.analyse.noise import pieces
from strata.analyse.rounds import CellRounds, collect
from strata.analyse.stats import estimate
from strata.analyse.steadiness import steadiness, tail
from strata.model import histogram
from strata.model.analysis import CellSummary, NoiseFloor
from strata.model.estimate import Estimate
from strata.model.percentiles import PERCENTILES, supported
from strata.model.resources import processors_of
from strata.model.result import CellResult, CpuPerIo, Direction, cpu_per_io
from strata.model.workload import Workload

_GRID = (*(float(p) for p in range(1, 100)), 99.5, 99.8, 99.9, 99.95, 99.98, 99.99, 99.995, 99.999, 99.9999)


def cell_summary(
    layer: str,
    workload: Workload,
    results: Sequence[CellResult],
    *,
    chain: Sequence[str] = (),
    noise: NoiseFloor | None = None,
) -> CellSummary | None:
    """The summary of these measurements; None when none of them gave an I/O.

    ``chain`` names the block devices from the one under the file system down to the medium, for measurements that do
    not name their own. With ``noise`` the intervals use what equal measurements differed by elsewhere in the run: for
    the few rounds of an experiment.
    """
    return summarise(collect(layer, workload, results), chain=chain, noise=noise)


def summarise(
    cell: CellRounds, *, chain: Sequence[str] = (), noise: NoiseFloor | None = None, origin_ns: int | None = None
) -> CellSummary | None:
    """As `cell_summary`, from collected rounds. ``origin_ns`` is the start of the run on the timeline."""
    if not cell.values:
        return None
    pooled = noise.between_rounds if noise is not None and noise.rounds > 1 else None
    seconds = sum(r.result.seconds for r in cell.results if r.result is not None)
    # A flush occupies a slot like an I/O.
    busy_ns = sum(d.service_sum_ns for r in cell.results if r.result for d in r.result.directions)
    flushes = [r.result.sync for r in cell.results if r.result and r.result.sync]
    # Not kept with the rounds, as `CellRounds.told` is: of a large matrix that would be tens of MiB.
    per_round = [counters.readings(r) for r in cell.results]
    mean = counters.mean_of(per_round)
    cpu = [p for p in map(processors_of, per_round) if p is not None]
    latest = cell.results[-1]
    chain, carriers = latest.devices or tuple(chain), latest.carriers
    device = counters.device(mean, chain, carriers)
    wire = counters.wire_bytes(mean)
    spent = _engine_cpu(cell)
    app = float(np.mean([v.bytes_per_second for v in cell.values]))
    read = device.read_bytes_per_second / app if device is not None and app > 0 and cell.workload.rw.reads else None
    found = ends.flows_of(cell, per_round, carriers)
    passed = flows.notes(found, chain, carriers, direct=cell.workload.direct)
    return CellSummary(
        layer=cell.layer,
        workload=cell.workload,
        rounds=len(cell.values),
        ios=cell.ios,
        iops=estimate([v.iops for v in cell.values], "IOPS", pooled),
        bytes_per_second=estimate([v.bytes_per_second for v in cell.values], "B/s", pooled),
        mean_ns=estimate([v.mean_ns for v in cell.values], "ns", pooled),
        latency_ns=_latency(cell, pooled),
        curve=curve(cell.merged) if cell.merged else (),
        outstanding=busy_ns / 1e9 / seconds,
        cpu_busy=_mean([p.busy for p in cpu]),
        cpu_busiest=_mean([p.busiest for p in cpu]),
        cpu_steal=_mean([p.steal for p in cpu]),
        engine_cpu_ns_per_io=spent.total_ns if spent else None,
        engine_user_ns_per_io=spent.user_ns if spent else None,
        engine_system_ns_per_io=spent.system_ns if spent else None,
        device_read_bytes_per_byte=read,
        device_in_flight=device.in_flight if device else None,
        device_busy_ns_per_io=device.ns_per_io if device else None,
        wire_bytes_per_byte=wire / app if wire is not None and app > 0 else None,
        errors=cell.errors,
        caching=tuple(r.result.caching for r in cell.results if r.result is not None and r.result.caching is not None),
        counters=dict(mean.stored),
        timeline=_timeline(cell, origin_ns),
        flushes=sum(d.ops for d in flushes),
        flush_ns=_flush_times(flushes),
        flows=found,
        cycles=ends.costs_of(cell, per_round),
        splits=ends.splits_of(cell, per_round),
        notes=passed,
        devices=chain,
        carriers=carriers,
        absent=_never(cell.results),
        steadiness=steadiness(cell),
        tail=tail(cell),
    )


def _never(results: Sequence[CellResult]) -> tuple[str, ...]:
    """Reasons that hold in every round: a counter that was there once is not absent."""
    first, *others = (r.absent for r in results)
    return tuple(why for why in first if all(why in other for other in others))


def _flush_times(flushes: Sequence[Direction]) -> dict[str, float]:
    ops = sum(d.ops for d in flushes)
    merged = histogram.merge(d.service_time for d in flushes if d.ops)
    if not ops or merged is None:
        return {}
    names = ("50", *(p for p in supported(PERCENTILES, ops) if p != "50"))
    times = histogram.quantiles(merged, [float(p) / 100 for p in names])
    return {"mean": sum(d.service_sum_ns for d in flushes) / ops, **dict(zip(names, map(float, times), strict=True))}


def curve(payload: str) -> tuple[tuple[float, float], ...]:
    """(percentile 0..100, ns) of a distribution, on a fixed grid as far as the counts reach."""
    values, counts = histogram.decode(payload)
    if not values:
        return ()
    reached = np.cumsum(counts)
    total = int(reached[-1])
    edge = np.asarray(values, dtype=float)
    points = [(0.0, float(edge[0]))]
    for p in _GRID:
        if total * (1 - p / 100) < 1 and p > 99:
            break
        points.append((p, float(edge[np.searchsorted(reached, total * p / 100 - 1e-9)])))
    return (*points, (100.0, float(edge[-1])))


def _latency(cell: CellRounds, pooled: float | None) -> dict[str, Estimate]:
    names = list(cell.values[0].latency_ns)
    if cell.merged is None or not names:
        return {}
    whole = histogram.quantiles(cell.merged, [float(p) / 100 for p in names])
    found = {}
    for name, merged in zip(names, whole, strict=True):
        rounds = estimate(list(cell.by_round(name).values()) or [float(merged)], "ns", pooled)
        value = float(merged)
        found[name] = rounds.model_copy(
            update={
                "value": value,
                "low": None if rounds.low is None else min(rounds.low, value),
                "high": None if rounds.high is None else max(rounds.high, value),
            }
        )
    return found


def _engine_cpu(cell: CellRounds) -> CpuPerIo | None:
    user = system = ios = 0
    for one in cell.results:
        if one.result is None:
            continue
        spent = one.result.cpu.get("user_ns"), one.result.cpu.get("system_ns")
        if spent[0] is None or spent[1] is None:
            return None
        user, system, ios = user + spent[0], system + spent[1], ios + one.result.ops
    return cpu_per_io(user, system, ios)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _timeline(cell: CellRounds, origin_ns: int | None) -> tuple[tuple[int, float, float], ...]:
    points = []
    for one in cell.results:
        if one.result is None:
            continue
        begin = one.result.started_unix_ns + one.result.ramp_ns
        origin = begin if origin_ns is None else origin_ns
        for start, end, ops in pieces(one.result.intervals):
            points.append((one.round, (begin - origin + start) / 1e9, ops / (end - start) * 1e9))
    return tuple(points)
