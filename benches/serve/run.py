#!/usr/bin/env python3
"""How long the pages of `strata serve` take at the server, over 10,000 runs and a million cells (see README.md)."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "benches" / "store"), str(ROOT / "tests" / "unit" / "report"), str(ROOT / "tests" / "contract")]

from filling import CELLS, DAY_NS, ROUNDS, _bulk, fill  # noqa: E402
from sample_report import build  # noqa: E402

from strata.model.remembered import RunHead  # noqa: E402
from strata.store import Store, open_store  # noqa: E402

LIMIT_MS = 300
DONE = "done-000000"


def many(store: Store, runs: int) -> None:
    """So many finished runs with their verdicts; the newest one has its results too."""
    one = build()
    run = one.run.model_copy(update={"id": DONE, "plan": one.run.plan.model_copy(update={"id": DONE})})
    document, head = run.model_dump_json(), RunHead.of(run)
    analysis, diagnosis = one.analysis.model_dump_json(), one.diagnosis.model_dump_json()
    verdict = one.diagnosis.verdict
    names = [f"done-{n:06}" for n in range(runs)]
    at = {name: (2000 + n) * DAY_NS for n, name in enumerate(names)}
    stamp = f'"created_unix_ns":{run.created_unix_ns}'
    _bulk(
        store._engine, "runs", ("id", "created_unix_ns", "status", "stack", "document"),
        ((n, at[n], "done", head.stack,
          document.replace(DONE, n).replace(stamp, f'"created_unix_ns":{at[n]}')) for n in names),
    )  # fmt: skip
    _bulk(
        store._engine, "heads", ("run_id", "layers", "workloads", "rounds", "name", "note", "host", "endpoints"),
        ((n, json.dumps(head.layers), json.dumps(head.workloads), head.rounds, f"name {n}", "", head.host,
          json.dumps(head.endpoints)) for n in names),
    )  # fmt: skip
    _bulk(
        store._engine, "outcomes", ("run_id", "verdict", "layer", "cause", "analysis", "diagnosis"),
        ((n, verdict.kind.value, verdict.layer, verdict.cause.value, analysis, diagnosis) for n in names),
    )  # fmt: skip
    for result in one.results:
        store.save_cell(names[-1], result)


def main() -> int:
    """Fills, asks, prints; 1 where a page took longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=7)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="strata-bench-serve-") as folder:
        state = Path(folder) / "state"
        state.mkdir(mode=0o700)
        with open_store(str(state / "strata.db")) as store:
            fill(store, -(-asked.cells // (CELLS * ROUNDS)))
            many(store, asked.runs)
            store.save_baseline("main", ["run-000000", "run-000001", "run-000002"], 1, "", new=True)
        env = os.environ | {"STRATA_STATE_DIR": str(state), "PYTHONPATH": str(ROOT / "src")}
        command = [sys.executable, "-m", "strata", "serve", "--listen", "127.0.0.1:0"]
        with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stderr is not None
                late = ask(server.stderr.readline().split()[1], asked.runs, asked.times)
            finally:
                server.terminate()
    said = f"each page in {LIMIT_MS} ms, the first time too: {'no' if late else 'yes'}"
    print(f"\nload {os.getloadavg()[0]:.1f} at the end; {said}")
    return int(late)


def ask(url: str, runs: int, times: int) -> bool:
    """Prints a line for each page: the first answer, then the others."""
    base, token = url.split("/?token=")
    last = f"done-{runs - 1:06}"
    pages = {
        "runs": "/runs", "runs, the last page": f"/runs?page={runs // 100}", "runs by a name": "/runs?name=001",
        "a report": f"/runs/{last}", "a report as JSON": f"/runs/{last}.json", "every cell": "/history",
        "history of one cell": "/history?cell=disk/randread-4KiB-qd1", "baselines with their gates": "/baselines",
        "a gate of 280 cells": "/gate?baseline=main&run=run-000003",
        "compare two runs of 280 cells": "/compare?run=run-000003&run=run-000004",
        "compare four runs of 280 cells": "/compare?run=run-000003&run=run-000004&run=run-000005&run=run-000006",
        "metrics": "/metrics",
    }  # fmt: skip
    print("| page | first | median | longest | KiB |\n| :-- | --: | --: | --: | --: |")
    late = False
    for name, path in pages.items():
        took, size = [], 0
        for _ in range(times + 1):
            began = time.perf_counter()
            request = urllib.request.Request(base + path, headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request) as answer:
                size = len(answer.read())
            took.append((time.perf_counter() - began) * 1000)
        first, *others = took
        late |= max(first, statistics.median(others)) > LIMIT_MS
        print(f"| {name} | {first:.0f} ms | {statistics.median(others):.0f} ms | {max(others):.0f} ms | {size >> 10} |")
    return late


if __name__ == "__main__":
    sys.exit(main())
