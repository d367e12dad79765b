"""What is reported of a matrix whose visits are in the store."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from strata.analyse.matrix.result import cells_of, within
from strata.model.analysis import Generator
from strata.model.matrix import Grid, MatrixAsk
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


def asked(target: float = 0.05) -> MatrixAsk:
    grid = Grid(name="8 cells", depths=(1, 8), sizes=(4096, 65536), patterns=("random read", "sequential read"))
    return MatrixAsk(grid=grid, budget_s=8.0, target=target, promised=True)


def test_a_promise_is_kept_where_every_cell_is_near_enough() -> None:
    cells, _ = cells_of(planned(), visited(WORKLOADS), None, None)
    assert within(planned(), cells, asked()) and not within(planned(), cells, asked(1e-9))


@pytest.mark.parametrize("error", ["an I/O failed: EIO", "byte bound reached: no more writing"])
def test_a_cell_that_failed_is_no_kept_promise_and_one_that_the_plan_skips_is_exempt(error: str) -> None:
    *others, last = WORKLOADS
    failed = cell_result("null", last, 99, None, error=error)
    cells, _ = cells_of(planned(), [*visited(others), failed], None, None)
    assert cells[-1].why == error and not within(planned(), cells, asked())
    skips = planned().cells[-1].model_copy(update={"skip": "the layer is read-only"})
    plan = planned().model_copy(update={"cells": (*planned().cells[:-1], skips)})
    cells, _ = cells_of(plan, visited(others), None, None)
    assert cells[-1].why == "the layer is read-only" and within(plan, cells, asked())
