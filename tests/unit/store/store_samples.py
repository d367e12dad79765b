"""Runs and results for the tests of the store."""

from __future__ import annotations

import base64
import os
import random
from pathlib import Path

from strata.model.analysis import Analysis, NoiseFloor
from strata.model.estimate import Estimate
from strata.model.finding import Cause, Diagnosis, Verdict, VerdictKind
from strata.model.matrix import Given, Grid, MatrixAsk, MatrixCell, MatrixResult
from strata.model.plan import Cell, Plan, Step
from strata.model.result import CellResult, Direction, EngineResult, Interval, IntervalDirection
from strata.model.run import Environment, Run, RunStatus
from strata.model.rw import Rw
from strata.model.series import Series, SeriesKind
from strata.model.stack import Layer, Stack
from strata.model.workload import ClosedLoop, Workload

SRC = Path(__file__).resolve().parents[3] / "src"
WORKLOAD = Workload(rw=Rw.RANDREAD, bs=8192, arrival=ClosedLoop(iodepth=8))


def child_environment() -> dict[str, str]:
    """For a second process that imports Strata and these samples."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(SRC), str(Path(__file__).parent), *filter(None, given)])}


def matrix(run_id: str) -> MatrixResult:
    iops = Estimate(value=5000.0, low=4900.0, high=5100.0, n=2, unit="IOPS")
    cell = MatrixCell(
        layer="disk", workload=WORKLOAD, pattern="randread", bs=8192, iodepth=8, given=Given.MEASURED, iops=iops,
        measured=iops, smoothed=None, visits=2, seconds=1.0,
    )  # fmt: skip
    ask = MatrixAsk(grid=Grid(name="x", depths=(8,), sizes=(8192,), patterns=("randread",)), budget_s=9.0, target=0.05)
    return MatrixResult(
        run=run_id, where="null:", ask=ask, layers=("disk",), cells=(cell,), noise=None, predictions=(), seconds=1.0,
        start_s=0.1, ended="budget", reached=True,
    )  # fmt: skip


def run(run_id: str = "20260301-120000-abcd", created: int = 1, status: RunStatus = RunStatus.RUNNING) -> Run:
    cell = Cell(layer="disk", workload=WORKLOAD)
    plan = Plan(
        id=run_id, stack=Stack(name="volume", layers=(Layer(name="disk", endpoint="null:"),)), cells=(cell,),
        steps=(Step(order=0, round=0, cell=cell.key),), rounds=1, seed=1, ramp_s=0.5, runtime_s=1.0, interval_s=0.5,
        file_size=0, seconds=2.0, bytes_written=0, assumed_write_bps=1e9,
    )  # fmt: skip
    environment = Environment(strata_version="0", build={}, python="3.11", hostname="h", kernel="k")
    return Run(id=run_id, created_unix_ns=created, status=status, plan=plan, environment=environment)


def cell(order: int = 0, ops: int = 1000, error: str | None = None, seconds: int = 2) -> CellResult:
    """About what a real step gives: histograms that hardly deflate, intervals, and some tens of counters."""
    rng = random.Random(order)

    def histogram() -> str:
        return base64.b64encode(rng.randbytes(500) + bytes(1500)).decode()

    direction = Direction(ops=ops, bytes=ops * 8192, service_time=histogram(), response_time=histogram())
    none = IntervalDirection(ops=0, bytes=0, errors=0)
    intervals = tuple(
        Interval(
            start_ns=i * 10**9, end_ns=(i + 1) * 10**9,
            read=IntervalDirection(ops=ops // seconds, bytes=4096, errors=0, service_time=histogram()), write=none,
        )
        for i in range(seconds)
    )  # fmt: skip
    result = EngineResult(
        engine={"kind": "null"}, effective={}, started_unix_ns=1, ramp_ns=0, measured_ns=seconds * 10**9,
        stop_reason="runtime", issued=ops, completed=ops, errored=0, stuck=0, read=direction,
        write=Direction(ops=0, bytes=0), intervals=intervals,
    )  # fmt: skip
    counters = tuple(
        Series(
            metric="cpu.busy", unit="s", kind=SeriesKind.COUNTER, labels={"cpu": str(n)},
            t_ns=tuple(1_700_000_000_000_000_000 + i * 250_000_000 for i in range(8)),
            values=tuple(float(rng.randrange(10**6)) for _ in range(8)),
        )
        for n in range(20)
    )  # fmt: skip
    return CellResult(
        order=order, round=0, cell=f"disk/{WORKLOAD.key}", kind="measure", layer="disk",
        workload_key=WORKLOAD.key, result=result, counters=counters, error=error,
    )  # fmt: skip


def outcome(confidence: float = 0.9) -> tuple[Analysis, Diagnosis]:
    noise = NoiseFloor(between_rounds=0.01, within_bins=0.2, tolerance=0.02, rounds=3, cells=1)
    verdict = Verdict(
        kind=VerdictKind.MEDIUM, layer="disk", cause=Cause.MEDIUM, confidence=confidence, headline="h",
        explanation="e", next_step="n",
    )  # fmt: skip
    return Analysis(noise=noise, cells=(), comparisons=(), checks=()), Diagnosis(
        verdict=verdict, findings=(), ruled_out=()
    )
