"""fio's json+: one job a round, with its distribution, for whatever reads fio's results."""

from __future__ import annotations

import json
import statistics
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from strata import __version__, units
from strata.formats.exports.tables import MeasuredRun
from strata.formats.fio import job_options
from strata.model.histogram import decode, merge, quantiles, spread
from strata.model.percentiles import PERCENTILES, supported
from strata.model.result import Direction, EngineResult, IntervalDirection
from strata.model.run import Run
from strata.model.workload import Workload

NAME, TITLE, TABULAR = "fio", "fio's json+, one job a round", False
SIDES = ("read", "write")
_EDGES = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
"""Up to which latencies of a unit are counted together; those of ms have one more, and what is above."""


def write(runs: Sequence[MeasuredRun]) -> str:
    jobs = [made for of in runs for made in _jobs(of)]
    return document(jobs, max((of.run.created_unix_ns for of in runs), default=0))


def document(jobs: Sequence[dict[str, Any]], created_unix_ns: int) -> str:
    """A whole result of fio."""
    begun = created_unix_ns // units.NS_PER_S
    head = {"fio version": f"strata-{__version__}", "timestamp": begun, "timestamp_ms": begun * 1000}
    return json.dumps({**head, "global options": {}, "jobs": jobs, "disk_util": []}, indent=1, allow_nan=False) + "\n"


def _jobs(of: MeasuredRun) -> Iterator[dict[str, Any]]:
    known = of.workloads
    for group, one in enumerate(of.results):
        workload = known.get(one.workload_key)
        if one.result is None or workload is None or one.kind != "measure":
            continue
        name = f"{one.layer}-r{one.round + 1}-{one.workload_key}"
        yield job(of.run, one.layer, workload, [one.result], name) | {"groupid": group}


def job(run: Run, layer: str, workload: Workload, results: Sequence[EngineResult], name: str) -> dict[str, Any]:
    """One job of fio: the results of one cell, added up exactly."""
    seconds = sum(one.measured_ns for one in results) / units.NS_PER_S
    return {
        "jobname": name,
        "groupid": 0,
        "error": 0,
        "elapsed": round(seconds),
        "job options": _options(run, layer, workload, seconds / len(results)),
        **{side: _side(results, side, seconds) for side in SIDES},
        **_cpu(results, workload.threads, seconds),
        **_shares(results),
    }


def _options(run: Run, name: str, workload: Workload, runtime: float) -> dict[str, str]:
    """As fio would have been told; the least where it has no words for the workload."""
    layer = next((layer for layer in run.plan.stack.layers if layer.name == name), None)
    words = None if layer is None else job_options(layer.target, workload, (), run.plan.ramp_s, runtime)
    asked = {"rw": workload.rw.value, "bs": str(workload.bs), "iodepth": str(workload.arrival.iodepth),
             "numjobs": str(workload.threads), "direct": str(int(workload.direct))}  # fmt: skip
    words = asked | {key: value for key, value in (words or {}).items() if key not in ("offset", "size")}
    return {"name": workload.key} | words


def _cpu(results: Sequence[EngineResult], threads: int, seconds: float) -> dict[str, float]:
    """Percent of a CPU, of each thread; nothing where one of the results does not say it."""
    found = {}
    for key, word in (("usr_cpu", "user_ns"), ("sys_cpu", "system_ns")):
        spent = [ns for one in results if (ns := one.cpu.get(word)) is not None]
        if len(spent) == len(results) and seconds:
            found[key] = 100 * sum(spent) / (seconds * units.NS_PER_S * threads)
    return found


def _side(results: Sequence[EngineResult], side: str, seconds: float) -> dict[str, Any]:
    of: list[Direction] = [getattr(one, side) for one in results]
    ops, transferred = sum(one.ops for one in of), sum(one.bytes for one in of)
    rate = transferred / seconds if seconds else 0.0
    found: dict[str, Any] = {
        "io_bytes": transferred, "io_kbytes": transferred // units.KIB, "bw_bytes": round(rate),
        "bw": int(rate // units.KIB),
        "iops": ops / seconds if seconds else 0.0, "runtime": round(seconds * 1000), "total_ios": ops,
    }  # fmt: skip
    if ops:
        parts = [(ns, part) for one in results for ns, part in intervals(one, side)]
        found |= _samples("iops", [part.ops * units.NS_PER_S / ns for ns, part in parts])
        found |= _samples("bw", [part.bytes * units.NS_PER_S / ns / units.KIB for ns, part in parts])
    payload = merge(one.service_time for one in of)
    if payload is not None and ops:
        times = _times(payload, sum(one.service_sum_ns for one in of), ops)
        found |= {"clat_ns": times, "lat_ns": {k: v for k, v in times.items() if k != "bins"}}
    return found


def intervals(one: EngineResult, side: str) -> Iterator[tuple[int, IntervalDirection]]:
    """Their lengths in ns; without a last one that was cut short, which fio has not."""
    longest = max((part.end_ns - part.start_ns for part in one.intervals), default=0)
    for part in one.intervals:
        if (length := part.end_ns - part.start_ns) * 2 > longest:
            yield length, getattr(part, side)


def _samples(name: str, values: Sequence[float]) -> dict[str, float]:
    """What fio says of its samples; of one alone there is no deviation."""
    if not values:
        return {}
    found = {f"{name}_min": min(values), f"{name}_max": max(values), f"{name}_mean": statistics.fmean(values)}
    found |= {f"{name}_{'dev' if name == 'bw' else 'stddev'}": statistics.stdev(values)} if len(values) > 1 else {}
    return found | {f"{name}_samples": len(values)}


def _times(payload: str, sum_ns: int, ops: int) -> dict[str, Any]:
    """fio's names: N, mean, and bins by their value."""
    whole, (values, counts) = spread(payload), decode(payload)
    asked = supported(PERCENTILES, ops)
    at = quantiles(payload, [float(p) / 100 for p in asked])
    return {
        "min": round(whole.min_ns), "max": round(whole.max_ns), "mean": sum_ns / ops,
        "stddev": whole.sd_ns, "N": sum(counts),
        "percentile": {f"{float(p):.6f}": value for p, value in zip(asked, at, strict=True)},
        "bins": {str(value): count for value, count in zip(values, counts, strict=True)},
    }  # fmt: skip


def _shares(results: Sequence[EngineResult]) -> dict[str, dict[str, float]]:
    """Percent of all I/Os by latency: up to 2 ns, 4 ns, …, 2000 ms and above, in three units."""
    payload = merge(getattr(one, side).service_time for one in results for side in SIDES)
    if payload is None:
        return {}
    edges = [(f"latency_{unit}", str(edge), edge * ns) for unit, ns in _UNITS for edge in _EDGES]
    edges += [("latency_ms", "2000", 2000 * units.NS_PER_MS), ("latency_ms", ">=2000", 0)]
    values, counts = decode(payload)
    shares = [0.0] * len(edges)
    for value, count in zip(values, counts, strict=True):
        shares[bisect_left(edges, value, hi=len(edges) - 1, key=lambda edge: edge[2])] += count
    found: dict[str, dict[str, float]] = {}
    for (unit, name, _), share in zip(edges, shares, strict=True):
        found.setdefault(unit, {})[name] = 100 * share / sum(counts)
    return found


_UNITS = (("ns", 1), ("us", units.NS_PER_US), ("ms", units.NS_PER_MS))
