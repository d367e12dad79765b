"""Fills a store with made-up runs, in bulk: 280 cells of 5 rounds each, as a full matrix gives them.

The figures are drawn, the documents of the runs are whole (their plan has every step), and the results themselves are
stand-ins of a few bytes: no question that is timed here reads one.
"""

from __future__ import annotations

import array
import json
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Engine

from strata.model.place import identity_of
from strata.model.plan import Cell, Plan, Step
from strata.model.remembered import RunHead
from strata.model.run import Environment, Run, RunStatus
from strata.model.rw import Rw
from strata.model.stack import Layer, Stack
from strata.model.step_figures import GRID
from strata.model.workload import ClosedLoop, Workload
from strata.store import Store

PATTERNS = (Rw.READ, Rw.RANDREAD, Rw.WRITE, Rw.RANDWRITE, Rw.RANDRW)
DEPTHS = (1, 2, 4, 8, 16, 32, 64)
SIZES = tuple(4096 << i for i in range(8))
ROUNDS = 5
CELLS = len(PATTERNS) * len(DEPTHS) * len(SIZES)
DAY_NS = 86_400 * 10**9
STAND_IN = b"stand-in for a result"
NAME = "run-000000"

FIGURES = (
    "run_id", "step_order", "series_id", "created_unix_ns", "round", "kind", "ops", "errored", "iops",
    "bytes_per_second", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "caching", "quantiles",
)  # fmt: skip
ROWS = ("run_id", "step_order", "round", "kind", "layer", "workload_key", "iops", "error", "result")


def matrix() -> Run:
    """One run of the full matrix at one layer."""
    workloads = [
        Workload(rw=rw, bs=bs, arrival=ClosedLoop(iodepth=d), rwmixread=70 if rw is Rw.RANDRW else None)
        for rw in PATTERNS
        for bs in SIZES
        for d in DEPTHS
    ]
    cells = tuple(Cell(layer="disk", workload=w) for w in workloads)
    order = [(r, c) for r in range(ROUNDS) for c in cells]
    plan = Plan(
        id=NAME, stack=Stack(name="volume", layers=(Layer(name="disk", endpoint="block:/dev/x"),)), cells=cells,
        steps=tuple(Step(order=i, round=r, cell=c.key) for i, (r, c) in enumerate(order)), rounds=ROUNDS, seed=1,
        ramp_s=0.25, runtime_s=1.0, interval_s=0.25, file_size=1 << 30, seconds=1750.0, bytes_written=0,
        assumed_write_bps=1e9,
    )  # fmt: skip
    environment = Environment(strata_version="0", build={"profile": "release"}, python="3.11", hostname="h", kernel="k")
    return Run(id=NAME, created_unix_ns=DAY_NS, status=RunStatus.DONE, plan=plan, environment=environment)


def fill(store: Store, runs: int, seed: int = 1) -> None:
    """So many runs, a day apart."""
    run, rng = matrix(), random.Random(seed)
    document, head = run.model_dump_json(), RunHead.of(run)
    keys = [c.workload.key for c in run.plan.cells]
    identity = identity_of(run, "disk")
    lists = json.dumps(head.layers), json.dumps(head.workloads)
    _bulk(
        store._engine, "series", ("id", "layer", "workload_key", "identity"),
        ((i + 1, "disk", key, identity) for i, key in enumerate(keys)),
    )  # fmt: skip
    for first in range(0, runs, 20):
        numbers = range(first, min(first + 20, runs))
        names = {n: f"run-{n:06}" for n in numbers}
        made = {n: (n + 1) * DAY_NS for n in numbers}
        _bulk(
            store._engine, "runs", ("id", "created_unix_ns", "status", "stack", "document"),
            (
                (
                    names[n], made[n], "done", "volume",
                    document.replace(NAME, names[n]).replace(str(DAY_NS), str(made[n]), 1),
                )
                for n in numbers
            ),
        )  # fmt: skip
        _bulk(
            store._engine, "heads", ("run_id", "layers", "workloads", "rounds", "message"),
            ((names[n], *lists, ROUNDS, None) for n in numbers),
        )  # fmt: skip
        steps = [step for n in numbers for step in _steps(rng, names[n], made[n], keys)]
        _bulk(store._engine, "cells", ROWS, (s[0] for s in steps))
        _bulk(store._engine, "figures", FIGURES, (s[1] for s in steps))


def _steps(
    rng: random.Random, name: str, created: int, keys: list[str]
) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
    shape = [1 + p / 100 for p in GRID]
    for order in range(len(keys) * ROUNDS):
        number, i = divmod(order, len(keys))
        iops = 1000.0 * (i + 1) * math.exp(rng.gauss(0, 0.02))
        mean = 1e9 / iops
        times = array.array("f", [mean * s for s in shape])
        yield (
            (name, order, number, "measure", "disk", keys[i], iops, None, STAND_IN),
            (
                name, order, i + 1, created, number, "measure", 1_000_000, 0, iops, iops * 4096, mean, mean * 1.5,
                mean * 1.9, mean * 1.99, mean * 1.999, "direct, sync none, page cache none", times.tobytes(),
            ),
        )  # fmt: skip


def _bulk(engine: Engine, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    names = ", ".join(columns)
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        if engine.dialect.name == "postgresql":
            with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:  # type: ignore[attr-defined]
                for row in rows:
                    copy.write_row(row)
        else:
            cursor.execute("BEGIN IMMEDIATE")
            cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})", rows)
            cursor.execute("COMMIT")
        connection.commit()
    finally:
        connection.close()
