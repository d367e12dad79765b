#!/usr/bin/env python3
"""How long a store of a million cells takes to answer, in SQLite and on PostgreSQL (see README.md)."""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from filling import CELLS, ROUNDS, fill
from sqlalchemy import text

import strata.cli  # noqa: F401  (a command's own setting of the collector)
from strata.app.compare import compare_runs
from strata.app.history import points_of
from strata.store import Store, open_store

LIMIT_MS = 200
OF_THE_TESTS = Path(__file__).resolve().parents[2] / "tests" / "unit"


def main() -> int:
    """Fills, asks, prints; 1 where an answer took longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--on", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--dir", type=Path, default=None, help="where the store is made; removed afterwards")
    asked = parser.parse_args()
    runs = -(-asked.cells // (CELLS * ROUNDS))
    late = False
    print("| store | cells | filled in | size | question | median | longest |")
    print("| :-- | --: | --: | --: | :-- | --: | --: |")
    for kind in ("sqlite", "postgresql") if asked.on == "both" else (asked.on,):
        with ExitStack() as made:
            folder = Path(made.enter_context(tempfile.TemporaryDirectory(prefix="strata-bench-store-", dir=asked.dir)))
            if kind == "postgresql":
                sys.path.append(str(OF_THE_TESTS))
                from postgres_server import server

                url = made.enter_context(server()).url()
            else:
                url = str(folder / "strata.db")
            late |= ask(kind, url, runs, asked.times)
    print(f"\nload {os.getloadavg()[0]:.1f} at the end; each answer in {LIMIT_MS} ms: {'no' if late else 'yes'}")
    return int(late)


def ask(kind: str, url: str, runs: int, times: int) -> bool:
    """Prints a line for each question; whether one took too long."""
    with open_store(url) as store:
        began = time.perf_counter()
        fill(store, runs)
        with store._engine.begin() as connection:
            connection.execute(text("ANALYZE"))
        filled = time.perf_counter() - began
        size = size_of(store, kind, url)
    # Opened anew: nothing of what filled it is in this process's caches.
    with open_store(url) as store:
        # Nor in what the collector looks through: a command that asks has not filled anything before.
        gc.collect()
        gc.freeze()
        names = [h.id for h in store.heads(2)]
        series = store.series()[CELLS // 2]

        questions: dict[str, Callable[[], object]] = {
            "list the newest 20 runs": lambda: store.heads(20),
            f"history of one cell over {runs} runs": lambda: points_of(store.history(series)),
            f"compare two runs of {CELLS} cells": lambda: compare_runs(names[0], names[1], url),
        }
        late = False
        for name, question in questions.items():
            took = [clocked(question) for _ in range(times + 1)][1:]
            median = statistics.median(took)
            late |= median > LIMIT_MS
            cells = f"{runs * CELLS * ROUNDS:,}"
            print(
                f"| {kind} | {cells} | {filled:.0f} s | {size} MiB | {name} | {median:.0f} ms | {max(took):.0f} ms |",
                flush=True,
            )
    return late


def clocked(question: Callable[[], object]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    question()
    return (time.perf_counter() - began) * 1000


def size_of(store: Store, kind: str, url: str) -> int:
    """MiB on the disk."""
    if kind == "sqlite":
        return Path(url).stat().st_size >> 20
    with store._engine.connect() as connection:
        return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one()) >> 20


if __name__ == "__main__":
    sys.exit(main())
