"""Hand-made results for the tests of this room."""

from __future__ import annotations

from collections.abc import Sequence

from strata.model.plan import Cell, Plan
from strata.model.result import CellResult, Direction, EngineResult, Interval, IntervalDirection
from strata.model.rw import Rw
from strata.model.series import Series, SeriesKind
from strata.model.stack import Stack
from strata.model.workload import ClosedLoop, Workload

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND


def workload(rw: str = "randread", kib: int = 8, depth: int = 8, **more: object) -> Workload:
    """A closed loop."""
    return Workload(rw=Rw(rw), bs=kib * 1024, arrival=ClosedLoop(iodepth=depth), **more)  # type: ignore[arg-type]


def engine_result(
    w: Workload,
    iops: float,
    *,
    seconds: float = 2.0,
    mean_ns: float | None = None,
    payload: str | None = None,
    rates: Sequence[float] = (),
    **more: object,
) -> EngineResult:
    """One measurement; the mean time follows Little's law unless it is given."""
    ops = round(iops * seconds)
    mean = w.outstanding / iops * 1e9 if mean_ns is None else mean_ns
    one = Direction(ops=ops, bytes=ops * w.bs, service_time=payload, service_sum_ns=round(ops * mean))
    none = Direction(ops=0, bytes=0)
    span = int(seconds * SECOND / len(rates)) if rates else 0
    intervals = tuple(
        Interval(
            start_ns=i * span,
            end_ns=(i + 1) * span,
            read=IntervalDirection(ops=round(r * span / SECOND), bytes=0, errors=0),
            write=IntervalDirection(ops=0, bytes=0, errors=0),
        )
        for i, r in enumerate(rates)
    )
    fields: dict[str, object] = {
        "engine": {"build": {"profile": "release"}},
        "effective": {},
        "started_unix_ns": START,
        "ramp_ns": SECOND,
        "measured_ns": int(seconds * SECOND),
        "stop_reason": "time",
        "issued": ops,
        "completed": ops,
        "errored": 0,
        "stuck": 0,
        "read": none if w.rw.writes else one,
        "write": one if w.rw.writes else none,
        "intervals": intervals,
    }
    return EngineResult.model_validate(fields | more)


def cell_result(
    layer: str, w: Workload, number: int, result: EngineResult | None, counters: Sequence[Series] = (), **more: object
) -> CellResult:
    """One step of a plan."""
    fields: dict[str, object] = {
        "order": number,
        "round": number,
        "cell": f"{layer}/{w.key}",
        "kind": "measure",
        "layer": layer,
        "workload_key": w.key,
        "result": result,
        "counters": tuple(counters),
    }
    return CellResult.model_validate(fields | more)


def counter(metric: str, per_second: float, *, start: int = START, seconds: int = 4, **labels: str) -> Series:
    """A counter that grows evenly, sampled each second from ``start``."""
    return Series(
        metric=metric,
        unit="",
        kind=SeriesKind.COUNTER,
        labels=labels,
        t_ns=tuple(start + i * SECOND for i in range(seconds + 1)),
        values=tuple(per_second * i for i in range(seconds + 1)),
    )


def plan_of(stack: Stack, workloads: Sequence[Workload], rounds: int = 3) -> Plan:
    """The cells; the order of steps does not matter here."""
    return Plan(
        id="p",
        stack=stack,
        cells=tuple(Cell(layer=layer.name, workload=w) for layer in stack.layers for w in workloads),
        steps=(),
        rounds=rounds,
        seed=1,
        ramp_s=1,
        runtime_s=2,
        interval_s=1,
        file_size=1 << 28,
        seconds=1,
        bytes_written=0,
        assumed_write_bps=1,
    )
