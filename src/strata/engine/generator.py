"""What the engine itself costs: every shape of the plan against an endpoint that does nothing."""

from __future__ import annotations

from collections.abc import Iterable

from strata.engine.job import Aim, Timing, build_job
from strata.engine.native import run_job
from strata.model.analysis import Generator
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.workload import ClosedLoop, Sync, Workload

SPAN = 1 << 42
"""Logical range of the null endpoint; it holds no data, only offsets are drawn from it, and every zone has room."""


def measure_generator(workloads: Iterable[Workload], timing: Timing) -> Generator:
    """IOPS and ns per I/O of the engine alone, by workload key.

    An open loop, and a closed one that is held back, are measured as a closed one of their depth: the ceiling is what
    counts. Workloads that differ only in what the null endpoint ignores (caching, write-through, a piece of the range)
    share one measurement.
    """
    measured: dict[str, tuple[float, float]] = {}
    iops: dict[str, float] = {}
    cost: dict[str, float] = {}
    for workload in workloads:
        closed = ClosedLoop(iodepth=workload.arrival.iodepth)
        changes = {"arrival": closed, "direct": True, "sync": Sync.NONE, "range": None}
        plain = workload.model_copy(update=changes)
        if plain.key not in measured:
            aim = Aim(endpoint=Endpoint.parse("null:"), segments=(Segment(start=0, length=SPAN, target=0),))
            more = [aim] * (len(plain.shares) - 1)
            result = run_job(build_job(aim.endpoint, plain, aim.segments, timing, more=more))
            measured[plain.key] = (result.iops, 1e9 * workload.threads / result.iops if result.iops else 0.0)
        iops[workload.key], cost[workload.key] = measured[plain.key]
    return Generator(iops=iops, ns_per_io=cost)
