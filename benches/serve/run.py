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
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "benches" / "store"), str(ROOT / "tests" / "unit" / "report"), str(ROOT / "tests" / "contract")]

from browser_view import browser  # noqa: E402
from filling import CELLS, DAY_NS, ROUNDS, _bulk, fill  # noqa: E402
from sample_report import build  # noqa: E402
from serving import WATCHED, keep_slices  # noqa: E402

from strata.model.remembered import RunHead  # noqa: E402
from strata.store import Store, open_store  # noqa: E402

LIMIT_MS, BROWSER_MS = 300, 1000
DONE = "done-000000"
HOSTS = 8, 50
FRAME = """() => new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0)))"""
"""Since the address was asked for: a frame was drawn, and the page answers."""
MEASURED = (
    ("a matrix of 48 cells", ("measure", "null:1g", "--matrix",
                              "bs=4k,16k,64k,256k;iodepth=1,2,4,8,16,32;rw=randread,randwrite", "--budget", "60s")),
    ("a sweep", ("scale", "null:1g", "--over", "iodepth", "--budget", "10s", "--no-open-loop")),
)  # fmt: skip
LIVE = """
import sys, time
from strata.app import live
from strata.model.progress import Phase, Progress
from strata.model.stack import Layer, Stack
live.EVERY_S = 0.0
layers = [Layer(name=name, endpoint="null:") for name in ("disk", "fs", "share")]
with live.recorded("now-1", Stack(name="live", layers=layers), lambda _: None, goal=0.02) as emit:
    for step in range(1, 10**9):
        told = Progress(phase=Phase.MEASURE, layer=layers[step % 3].name, label=f"read {step // 3 % 12}", step=step,
                        steps=10**6, iops=1000.0 + step % 100, p50_ns=1e5, p99_ns=1e6)
        emit(told)
        emit(told.model_copy(update={"finished": True}))
        time.sleep(0.0 if step < 8000 else 0.5)
"""


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


@contextmanager
def measuring(env: dict[str, str], record: Path) -> Iterator[None]:
    """A process that tells what a run of hours tells: its record is as long as one becomes."""
    with subprocess.Popen([sys.executable, "-c", LIVE], env=env) as process:
        try:
            while not record.exists() or record.stat().st_size < 1 << 20:
                time.sleep(0.1)
            yield
        finally:
            process.kill()


def main() -> int:
    """Fills, asks, prints; 1 where a page took longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--state", type=Path, help="a folder that is filled where it is missing, and stays")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="strata-bench-serve-") as folder:
        state = asked.state or Path(folder) / "state"
        env = os.environ | {"STRATA_STATE_DIR": str(state), "PYTHONPATH": str(ROOT / "src")}
        if not (state / "pages.json").exists():
            filled(state, asked.cells, asked.runs, env)
        keep_slices(state, 90)
        pages = json.loads((state / "pages.json").read_text())
        command = [sys.executable, "-m", "strata", "serve", "--listen", "127.0.0.1:0"]
        with (
            measuring(env, state / "live" / "now-1.live"),
            subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as server,
        ):
            try:
                assert server.stderr is not None
                late = ask(server.stderr.readline().split()[1], pages, asked.times)
            finally:
                server.terminate()
    said = f"each page and twin in {LIMIT_MS} ms, the first time too: {'no' if late else 'yes'}"
    print(f"\nload {os.getloadavg()[0]:.1f} at the end; {said}")
    return int(late)


def filled(state: Path, cells: int, runs: int, env: dict[str, str]) -> None:
    """Everything that the pages show, and where they are."""
    state.mkdir(mode=0o700)
    with open_store(str(state / "strata.db")) as store:
        fill(store, -(-cells // (CELLS * ROUNDS)))
        many(store, runs)
        store.save_baseline("main", ["run-000000", "run-000001", "run-000002"], 1, "", new=True)
    kinds = {name: f"/runs/{measured(env, words)}" for name, words in MEASURED}
    (state / "pages.json").write_text(json.dumps(listed(runs) | kinds))


def measured(env: dict[str, str], words: tuple[str, ...]) -> str:
    """A run of the engine's own, which has a page of its kind; its id."""
    command = [sys.executable, "-m", "strata", *words, "--progress", "none", "--json"]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return str(json.loads(done.stdout)["run"])


def listed(runs: int) -> dict[str, str]:
    """By name where each page is."""
    last = f"done-{runs - 1:06}"
    several = "&".join(f"run=run-{n:06}" for n in range(3, 7))
    return {
        "runs": "/runs", "runs, the last page": f"/runs?page={runs // 100}", "runs by a name": "/runs?name=001",
        "a report": f"/runs/{last}", "a run that is measured": "/runs/now-1", "every cell": "/history",
        "history of one cell": "/history?cell=disk/randread-4KiB-qd1", "baselines with their gates": "/baselines",
        "a gate of 280 cells": "/gate?baseline=main&run=run-000003",
        "compare two runs of 280 cells": "/compare?run=run-000003&run=run-000004",
        "compare four runs of 280 cells": f"/compare?{several}",
        **{f"{hosts} hosts of 280 cells": "/fleet?" + "&".join(f"run=run-{n:06}" for n in range(hosts))
           for hosts in HOSTS},
        "what is watched": "/watch", "a watching": f"/watch?path={WATCHED}", "metrics": "/metrics",
    }  # fmt: skip


def ask(url: str, pages: dict[str, str], times: int) -> bool:
    """Prints a line for each page: its first answer and the others, those of its twin, and until a browser drew it."""
    base, token = url.split("/?token=")

    def took(path: str) -> tuple[float, list[float], int]:
        each, size = [], 0
        for _ in range(times + 1):
            began = time.perf_counter()
            request = urllib.request.Request(base + path, headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request) as answer:
                size = len(answer.read())
            each.append((time.perf_counter() - began) * 1000)
        return each[0], each[1:], size >> 10

    print("| page | first | median | longest | KiB | twin: first | median | longest | KiB | browser |")
    print("| :-- | --: | --: | --: | --: | --: | --: | --: | --: | --: |")
    late = False
    with drawing(url) as draw:
        for name, path in pages.items():
            before, mark, asked = path.partition("?")
            said = []
            for one in (path, f"{before}.json{mark}{asked}") if name != "metrics" else (path,):
                first, others, size = took(one)
                late |= max(first, statistics.median(others)) > LIMIT_MS
                said.append(f"{first:.0f} ms | {statistics.median(others):.0f} ms | {max(others):.0f} ms | {size}")
            drawn = draw(base + path) if name != "metrics" else None
            late |= drawn is not None and drawn > BROWSER_MS
            said += ["– | – | – | –"] * (2 - len(said)) + ["–" if drawn is None else f"{drawn:.0f} ms"]
            print(f"| {name} | {' | '.join(said)} |", flush=True)
    return late


@contextmanager
def drawing(url: str) -> Iterator[Any]:
    """Until a page can be used in Chromium, the longest of four times in ms; None where there is no browser."""
    if find_spec("playwright") is None:
        yield lambda _: None
        return
    with browser() as chromium:
        page = chromium.new_page()
        page.goto(url)

        def drawn(address: str) -> float:
            found = []
            for _ in range(4):
                page.goto(address)
                found.append(float(page.evaluate(FRAME)))
            return max(found)

        yield drawn


if __name__ == "__main__":
    sys.exit(main())
