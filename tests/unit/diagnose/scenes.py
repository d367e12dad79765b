"""Simulated runs: a stack of paths, its cells, rounds with noise, as the values the engine and the probes give."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from strata.analyse import analyse
from strata.model.analysis import Analysis, Generator, Remote
from strata.model.estimate import Estimate
from strata.model.plan import Cell, Plan, Step
from strata.model.result import CellResult, Direction, EngineResult
from strata.model.rw import Rw
from strata.model.series import Series, SeriesKind
from strata.model.stack import Layer, Stack
from strata.model.workload import ClosedLoop, Workload

from .queueing import Path, run

KIB = 1024


def workload(rw: str, kib: int, depth: int) -> Workload:
    """One closed-loop workload."""
    return Workload(rw=Rw(rw), bs=kib * KIB, arrival=ClosedLoop(iodepth=depth))


DEFAULT = (
    workload("randread", 8, 1),
    workload("randread", 8, 8),
    workload("randread", 8, 32),
    workload("read", 8, 8),
    workload("read", 128, 8),
    workload("randwrite", 8, 8),
    workload("write", 8, 8),
    workload("write", 128, 8),
)


def measured(
    cell: Cell, path: Path, *, order: int, number: int, sd: float, rng: random.Random, drift: float = 0.0
) -> CellResult:
    """One measurement with multiplicative noise on its rate."""
    w = cell.workload
    iops, mean, busy = run(path, w.outstanding, w.bs, w.rw.writes, not w.rw.random)
    factor = math.exp(rng.gauss(0, sd) + drift)
    iops, mean = iops * factor, mean / factor
    seconds = 2.0
    ops = max(1, round(iops * seconds))
    one = Direction(ops=ops, bytes=ops * w.bs, service_sum_ns=round(ops * mean * 1e9))
    none = Direction(ops=0, bytes=0)
    result = EngineResult(
        engine={"build": {"profile": "release"}},
        effective={},
        started_unix_ns=order * 3 * 10**9,
        ramp_ns=0,
        measured_ns=int(ops / iops * 1e9),
        stop_reason="time",
        issued=ops,
        completed=ops,
        errored=0,
        stuck=0,
        read=none if w.rw.writes else one,
        write=one if w.rw.writes else none,
        intervals=(),
    )
    busy = min(1.0, max(0.0, busy * math.exp(rng.gauss(0, 0.02)) + 0.03))
    at = (order * 3 * 10**9, order * 3 * 10**9 + 2 * 10**9)
    counters = tuple(
        Series(metric="cpu_seconds", unit="s", kind=SeriesKind.COUNTER, labels={"cpu": c, "mode": m}, t_ns=at, values=v)
        for c, k in (("all", path.cores), *((str(i), 1) for i in range(path.cores)))
        for m, v in (("user", (0.0, 2 * k * busy)), ("idle", (0.0, 2 * k * (1 - busy))))
    )
    return CellResult(
        order=order,
        round=number,
        cell=cell.key,
        kind="measure",
        layer=cell.layer,
        workload_key=w.key,
        result=result,
        counters=counters,
    )


def plan_of(stack: Stack, workloads: Sequence[Workload], rounds: int, seed: int) -> Plan:
    """Every workload at every layer, each round in its own order."""
    cells = tuple(Cell(layer=layer.name, workload=w) for layer in stack.layers for w in workloads)
    rng = random.Random(seed)
    steps: list[Step] = []
    for number in range(rounds):
        for cell in rng.sample(cells, len(cells)):
            steps.append(Step(order=len(steps), round=number, cell=cell.key))
    return Plan(
        id="p",
        stack=stack,
        cells=cells,
        steps=tuple(steps),
        rounds=rounds,
        seed=seed,
        ramp_s=0,
        runtime_s=2,
        interval_s=1,
        file_size=1 << 28,
        seconds=1,
        bytes_written=0,
        assumed_write_bps=1,
    )


def demo_stack() -> Stack:
    """A medium reached directly, and through the path in question."""
    return Stack(
        name="demo",
        layers=(
            Layer(name="direct", endpoint="nbd://127.0.0.1:1/direct"),
            Layer(name="path", endpoint="nbd://127.0.0.1:2/path", on=("direct",)),
        ),
    )


def everyday_stack() -> Stack:
    """The first command's own: raw disk, file system, share."""
    return Stack(
        name="everyday",
        layers=(
            Layer(name="disk", endpoint="block:/dev/vda1"),
            Layer(name="file system", endpoint="file:/srv/strata.dat", on=("disk",)),
            Layer(name="share", endpoint="nbd://127.0.0.1:3/data", on=("file system",)),
        ),
    )


def simulate(
    stack: Stack,
    paths: dict[str, Path],
    *,
    seed: int,
    sd: float,
    rounds: int = 3,
    workloads: Sequence[Workload] = DEFAULT,
    trips: dict[str, float] | None = None,
    ceiling: float = 400_000,
) -> Analysis:
    """The analysis of one simulated run. ``trips`` are handshake round trips in seconds."""
    plan = plan_of(stack, workloads, rounds, seed)
    rng = random.Random(seed * 7919 + 13)
    drift = [rng.gauss(0, sd) for _ in range(rounds)]
    results = [
        measured(
            plan.cell(s.cell),
            paths[plan.cell(s.cell).layer],
            order=s.order,
            number=s.round,
            sd=sd,
            rng=rng,
            drift=drift[s.round],
        )
        for s in plan.steps
    ]
    remotes = [
        Remote(
            layer=name,
            rtt_ns=Estimate(value=t * 1.1e9, low=t * 1e9, high=t * 1.3e9, n=20, unit="ns"),
            min_rtt_ns=t * 1e9,
            multi_conn=True,
            connections=1,
        )
        for name, t in (trips or {}).items()
    ]
    generator = Generator(iops={w.key: ceiling for w in workloads}, ns_per_io={w.key: 1e9 / ceiling for w in workloads})
    return analyse(plan, results, generator=generator, remotes=remotes)
