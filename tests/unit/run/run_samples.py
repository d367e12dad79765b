"""Plans and results for the tests of the run."""

from __future__ import annotations

from strata.model.plan import Cell, Plan, Step
from strata.model.result import CellResult, Direction, EngineResult, ErrorCount
from strata.model.rw import Rw
from strata.model.stack import Layer, Stack
from strata.model.workload import ClosedLoop, Workload


def workload(iodepth: int) -> Workload:
    return Workload(rw=Rw.RANDREAD, bs=8192, arrival=ClosedLoop(iodepth=iodepth))


def plan(layers: int = 2, workloads: int = 2, rounds: int = 2, skip: frozenset[str] = frozenset()) -> Plan:
    names = [f"l{i}" for i in range(layers)]
    cells = tuple(
        Cell(layer=n, workload=workload(d), skip="because" if f"{n}/{workload(d).key}" in skip else None)
        for d in range(1, workloads + 1)
        for n in names
    )
    kept = [(r, c.key) for r in range(rounds) for c in cells if c.skip is None]
    return Plan(
        id="p",
        stack=Stack(name="s", layers=tuple(Layer(name=n, endpoint="null:") for n in names)),
        cells=cells,
        steps=tuple(Step(order=i, round=r, cell=key) for i, (r, key) in enumerate(kept)),
        rounds=rounds, seed=1, ramp_s=0.5, runtime_s=1.0, interval_s=0.5, file_size=0,
        seconds=2.0 * len(kept), bytes_written=0, assumed_write_bps=1e9,
    )  # fmt: skip


def engine_result(ops: int = 1000, stop_reason: str = "runtime", errored: int = 0, stuck: int = 0) -> EngineResult:
    errors = (ErrorCount(errno=5, name="EIO", count=errored, first_offset=0),) if errored else ()
    return EngineResult(
        engine={}, effective={}, started_unix_ns=1, ramp_ns=0, measured_ns=2_000_000_000, stop_reason=stop_reason,
        issued=ops + errored + stuck, completed=ops, errored=errored, stuck=stuck,
        read=Direction(ops=ops, bytes=ops * 8192, errors=errors), write=Direction(ops=0, bytes=0), intervals=(),
    )  # fmt: skip


def cell_result(step: Step, cell: Cell, engine: EngineResult | None = None, error: str | None = None) -> CellResult:
    return CellResult(
        order=step.order, round=step.round, cell=cell.key, kind=step.kind.value, layer=cell.layer,
        workload_key=cell.workload.key, result=engine or engine_result(), error=error,
    )  # fmt: skip
