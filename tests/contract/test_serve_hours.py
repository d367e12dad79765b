"""A page of ``strata serve`` that is open for a working day: server, heap and document stay as large as they were.

What eight hours bring, an update each half second, is sent as fast as the server draws and the browser shows it: what
each update makes of server and page is what it always makes. ``STRATA_UPDATES`` says how many; by default as many as
eight hours have.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from browser_view import browser
from serving import NASTY, SOURCE, fill, served, until

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(2 * 3600)]

UPDATES = int(os.environ.get("STRATA_UPDATES", "57600"))
LOOKS = 20

SERVER = """
import runpy
from strata.serve import feeds
feeds.EVERY_S = 0.001
runpy.run_module("strata", run_name="__main__", alter_sys=True)
"""
WRITER = """
import sys, time
from strata.app import live
from strata.model.progress import DeviceNow, Glance, NodeNow, Phase, Progress
from strata.model.stack import Layer, Node, Stack
live.EVERY_S = 0.0
name, nasty = sys.argv[1:]
stack = Stack(name=nasty, nodes=(Node(name="a", owner=True), Node(name="b")), layers=(
    Layer(name="disk", endpoint="null:", node="a"), Layer(name="fs", endpoint="null:", node="a", on=("disk",)),
    Layer(name=nasty, endpoint="null:", node="b", on=("fs",))))
told = Progress(phase=Phase.MEASURE, rounds=900, steps=90000)
with live.recorded(name, stack, lambda _: None, goal=0.02) as emit:
    for step in range(1, 90000):
        at = {"layer": ("disk", "fs", nasty)[step % 3], "label": f"read {step // 3 % 12}", "step": step,
              "round": step // 100 + 1, "seconds_left": 90000.0 - step}
        for number in range(6):
            busy = Glance(busy=0.5, devices=(DeviceNow(name=nasty, iops=step * 1.0, bytes_per_second=2.0, depth=3.0),),
                          nodes=(NodeNow(name="b", tx_bytes_per_second=1e6 + step, rx_bytes_per_second=1e5),))
            emit(told.model_copy(update=at | {"iops": 1000.0 + step + number, "bytes_per_second": 1e6, "p50_ns": 1e5,
                                              "p99_ns": 1e6 + step, "half_width": 0.05, "now": busy}))
            time.sleep(0.006)
        emit(told.model_copy(update=at | {"iops": 1000.0 + step, "finished": True}))
"""


class Size(NamedTuple):
    updates: int
    server_mib: float
    heap_mib: float
    nodes: int
    listeners: int
    record_kib: int


@contextmanager
def measuring(state: Path) -> Iterator[Path]:
    environment = os.environ | {"STRATA_STATE_DIR": str(state), "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen([sys.executable, "-c", WRITER, "now-1", NASTY], env=environment) as process:
        record = state / "live" / "now-1.live"
        until("the record", 60, record.exists)
        try:
            yield record
        finally:
            process.kill()


def size(page: Any, debugger: Any, pid: int, record: Path) -> Size:
    """After both have thrown away what they do not need: of several looks the smallest, for updates go on between."""
    looks = []
    for _ in range(8):
        debugger.send("HeapProfiler.collectGarbage")
        told = {m["name"]: m["value"] for m in debugger.send("Performance.getMetrics")["metrics"]}
        looks.append((told["JSHeapUsedSize"] / 2**20, int(told["Nodes"]), int(told["JSEventListeners"])))
    rss = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    heap_mib, nodes, listeners = (min(some) for some in zip(*looks, strict=True))
    return Size(
        page.evaluate("window.updates"), int(rss.split()[1]) / 1024, heap_mib, int(nodes), int(listeners),
        record.stat().st_size >> 10,
    )  # fmt: skip


def test_a_day_before_the_page_leaves_it_as_large_as_it_was(tmp_path: Path) -> None:
    state = tmp_path / "s"
    fill(state)
    with measuring(state) as record, served(state, start=("-c", SERVER)) as server, browser() as chromium:
        page = chromium.new_page()
        page.goto(server.url)
        page.goto(f"{server.base}/runs/now-1")
        page.evaluate("""() => { window.updates = 0;
            new MutationObserver(() => { window.updates++; }).observe(document.getElementById('now'),
                                                                     { childList: true }); }""")
        debugger = page.context.new_cdp_session(page)
        debugger.send("Performance.enable")
        looks: list[Size] = []
        began = time.monotonic()
        for n in range(1, LOOKS + 1):
            until("updates", 3600, lambda due=UPDATES * n // LOOKS: page.evaluate("window.updates") >= due)
            looks.append(size(page, debugger, server.pid, record))
            print(f"{time.monotonic() - began:6.0f} s", *looks[-1]._asdict().items(), flush=True)
        # The record is full after some thousand moments, and charts have all their points: from there on nothing grows.
        # What is collected goes up and down between looks, so its floor counts; of the server's memory the middle.
        early, late = looks[LOOKS // 4 : LOOKS // 2], looks[LOOKS // 2 :]
        for name, level in (("server_mib", statistics.median), ("heap_mib", min), ("nodes", min), ("listeners", min)):
            was, now = (level(getattr(one, name) for one in some) for some in (early, late))
            assert now <= was * 1.1 + 1, (name, was, now)
        assert max(one.record_kib for one in looks) <= 2048 and max(one.server_mib for one in looks) < 300
        assert max(one.heap_mib for one in looks) < 20 and max(one.nodes for one in looks) < 20_000
