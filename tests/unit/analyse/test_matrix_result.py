"""What is reported of a matrix whose visits are in the store."""

from __future__ import annotations

from collections.abc import Sequence

from strata.analyse.matrix.result import cells_of
from strata.model.analysis import Generator
from strata.model.plan import Plan
from strata.model.result import CellResult
from strata.model.stack import Layer, Stack
from strata.model.workload import Workload

from .material import cell_result, engine_result, plan_of, workload

STACK = Stack(name="null", layers=(Layer(name="null", endpoint="null:"),))
WORKLOADS = [workload(rw, kib, depth) for rw in ("randread", "read") for depth in (1, 8) for kib in (4, 64)]


def level(w: Workload) -> float:
    return 100_000.0 * w.arrival.iodepth


def planned() -> Plan:
    return plan_of(STACK, WORKLOADS)


def visited(workloads: Sequence[Workload]) -> list[CellResult]:
    """Each twice, and as fast as `level` says, whatever the size."""
    return [
        cell_result("null", w, number, engine_result(w, level(w), rates=[level(w)] * 20))
        for number, w in enumerate([*workloads, *workloads])
    ]


def test_the_generators_limit_at_the_smallest_size_is_that_of_every_size() -> None:
    smallest = [w for w in WORKLOADS if w.bs == 4096]
    alone = Generator(iops={w.key: level(w) * (4 if w.rw.random else 1) for w in smallest}, ns_per_io={})
    cells, _ = cells_of(planned(), visited(WORKLOADS), None, alone)
    assert {(c.pattern, c.iodepth, c.bs) for c in cells if c.generator_bound} == {
        ("sequential read", depth, size) for depth in (1, 8) for size in (4096, 65536)
    }
    assert not any(c.generator_bound for c in cells_of(planned(), visited(WORKLOADS), None, None)[0])
