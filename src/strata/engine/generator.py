"""What the engine itself costs: every shape of the plan against an endpoint that does nothing."""

from __future__ import annotations

from collections.abc import Iterable

from strata.engine.job import Piece, Timing
from strata.engine.port import Engine, Request
from strata.model.analysis import Generator
from strata.model.endpoint import Endpoint
from strata.model.placement import Placement
from strata.model.plan import Segment
from strata.model.workload import Cache, ClosedLoop, Sync, Workload

SPAN = 1 << 42
"""Logical range of the null endpoint; it holds no data, only offsets are drawn from it, and every zone has room."""


_TOGETHER = Timing(ramp_s=0.1, runtime_s=0.4, interval_s=0.05)
"""Of several clients: only intervals that lie in the time all overlap count, and they begin some milliseconds apart."""


def measure_generator(
    engine: Engine, workloads: Iterable[Workload], timing: Timing, placement: Placement | None = None
) -> Generator:
    """IOPS and ns per I/O of the engine alone, by workload key; shapes that the engine cannot carry have none.

    An open loop, and a closed one that is held back, are measured as a closed one of their depth: the ceiling is what
    counts. Workloads that differ only in what the null endpoint ignores (caching, write-through, a piece of the range)
    share one measurement.
    """
    measured: dict[str, tuple[float, float]] = {}
    iops: dict[str, float] = {}
    cost: dict[str, float] = {}
    for workload in workloads:
        closed = ClosedLoop(iodepth=workload.arrival.iodepth)
        ignored = {"direct": True, "sync": Sync.NONE, "cache": Cache.AS_FOUND, "range": None}
        plain = workload.model_copy(update={"arrival": closed, **ignored})
        piece = Piece(endpoint=Endpoint.parse("null:"), segments=(Segment(start=0, length=SPAN, target=0),))
        if engine.refusals(piece.endpoint, plain, piece.segments):
            continue
        if plain.key not in measured:
            request = Request(
                endpoint=piece.endpoint,
                workload=plain,
                segments=piece.segments,
                timing=_TOGETHER if plain.clients > 1 else timing,
                placement=placement,
                more=(piece,) * (len(plain.shares) - 1),
            )
            result = engine.run(request)
            measured[plain.key] = (
                result.iops,
                1e9 * workload.threads * workload.clients / result.iops if result.iops else 0.0,
            )
        iops[workload.key], cost[workload.key] = measured[plain.key]
    return Generator(iops=iops, ns_per_io=cost)
