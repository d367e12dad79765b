"""fio's json+: one job a round, with its distribution, for fio-plot and whatever else reads fio's results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from strata import __version__, units
from strata.formats.exports.tables import MeasuredRun
from strata.formats.fio import job_options
from strata.model.histogram import decode, quantiles, spread
from strata.model.percentiles import PERCENTILES, supported
from strata.model.result import CellResult, Direction
from strata.model.run import Run
from strata.model.workload import Workload

NAME, TITLE, TABULAR = "fio", "fio's json+, one job a round", False


def write(runs: Sequence[MeasuredRun]) -> str:
    """See the module."""
    jobs = [job for of in runs for job in _jobs(of)]
    begun = max((of.run.created_unix_ns for of in runs), default=0) // units.NS_PER_S
    head = {"fio version": f"strata-{__version__}", "timestamp": begun, "timestamp_ms": begun * 1000}
    return json.dumps({**head, "global options": {}, "jobs": jobs, "disk_util": []}, indent=1, allow_nan=False) + "\n"


def _jobs(of: MeasuredRun) -> Iterator[dict[str, Any]]:
    known = of.workloads
    for group, one in enumerate(of.results):
        workload = known.get(one.workload_key)
        if one.result is None or workload is None or one.kind != "measure":
            continue
        runtime = one.result.measured_ns / units.NS_PER_S
        yield {
            "jobname": f"{one.layer}-r{one.round + 1}-{one.workload_key}",
            "groupid": group,
            "error": 0,
            "elapsed": round(runtime),
            "job options": _options(of.run, one, workload, runtime),
            "read": _side(one.result.read, runtime),
            "write": _side(one.result.write, runtime),
            "usr_cpu": 0.0,
            "sys_cpu": 0.0,
        }


def _options(run: Run, one: CellResult, workload: Workload, runtime: float) -> dict[str, str]:
    """As fio would have been told; the least where it has no words for the workload."""
    layer = next((layer for layer in run.plan.stack.layers if layer.name == one.layer), None)
    words = None if layer is None else job_options(layer.target, workload, (), run.plan.ramp_s, runtime)
    if words is None:
        words = {"rw": workload.rw.value, "bs": str(workload.bs), "iodepth": str(workload.arrival.iodepth),
                 "numjobs": str(workload.threads), "direct": str(int(workload.direct))}  # fmt: skip
    return {"name": workload.key} | {key: value for key, value in words.items() if key not in ("offset", "size")}


def _side(side: Direction, seconds: float) -> dict[str, Any]:
    rate = side.bytes / seconds if seconds else 0.0
    found: dict[str, Any] = {
        "io_bytes": side.bytes, "io_kbytes": side.bytes // units.KIB, "bw_bytes": round(rate),
        "bw": int(rate // units.KIB),
        "iops": side.ops / seconds if seconds else 0.0, "runtime": round(seconds * 1000), "total_ios": side.ops,
    }  # fmt: skip
    if side.service_time is not None and side.ops:
        times = _times(side)
        found |= {"clat_ns": times, "lat_ns": {k: v for k, v in times.items() if k != "bins"}}
    return found


def _times(side: Direction) -> dict[str, Any]:
    """fio's names: N, mean, and bins by their value."""
    assert side.service_time is not None
    whole, (values, counts) = spread(side.service_time), decode(side.service_time)
    asked = supported(PERCENTILES, side.ops)
    at = quantiles(side.service_time, [float(p) / 100 for p in asked])
    return {
        "min": round(whole.min_ns), "max": round(whole.max_ns), "mean": side.service_sum_ns / side.ops,
        "stddev": whole.sd_ns, "N": sum(counts),
        "percentile": {f"{float(p):.6f}": value for p, value in zip(asked, at, strict=True)},
        "bins": {str(value): count for value, count in zip(values, counts, strict=True)},
    }  # fmt: skip
