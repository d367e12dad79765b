#!/usr/bin/env python3
"""What a cluster costs on this machine: start, memory, idle processor time, clocks, and the way of a graph.

    make bench-fleet            4, 16 and 48 nodes (QUICK=1: 4), each a process; two minutes; then the others of this
                                folder, whatever became of those before (QUICK=1: 194 s in all beside other work)
    benches/fleet/run.py --nodes 4,16 --idle 30 --tls

Nodes are real ones (`strata node join`), started together. Processor time is that of the processes, so other work on
the machine does not count; wall times do, and are upper bounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from strata.fleet import Call, Cluster, Lost, clocks, trust

TICKS = os.sysconf("SC_CLK_TCK")


def spent_s(pid: int) -> float:
    """Processor time of a process."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


def memory_mb(pid: int, key: str) -> float:
    """RSS, or PSS, which shares what several processes have mapped."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(next(line.split()[1] for line in rollup.splitlines() if line.startswith(f"{key}:"))) / 1024


def begin(words: list[str], state: Path) -> subprocess.Popen[str]:
    """`strata node WORDS…`."""
    state.mkdir(mode=0o700)
    env = os.environ | {"XDG_STATE_HOME": str(state)}
    argv = [sys.executable, "-m", "strata", "node", *words]
    return subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=env)


def heard(process: subprocess.Popen[str], word: str) -> str:
    """The line with that word."""
    assert process.stderr is not None
    while line := process.stderr.readline():
        if word in line:
            return line
    raise SystemExit(f"a process ended with {process.wait()}")


def measured(nodes: int, idle_s: float, folder: Path, *, tls: bool) -> dict[str, object]:
    """The figures for so many nodes."""
    names = [f"n{i}" for i in range(nodes)]
    more: list[str] = []
    if tls:
        trust.make(folder / "trust", tuple(names), 30)
        more = ["--trust", str(folder / "trust")]
    began = time.monotonic()
    scheme = "tls" if tls else "tcp"
    scheduler = begin(["serve", "--listen", f"{scheme}://127.0.0.1:0", *more], folder / "scheduler")
    running = [scheduler]
    try:
        address = heard(scheduler, "scheduler at ").split()[2]
        served = time.monotonic() - began
        began = time.monotonic()
        running += [begin(["join", address, "--name", name, *more], folder / name) for name in names]
        for process in running[1:]:
            heard(process, "has joined")
        joined = time.monotonic() - began
        began = time.monotonic()
        with Cluster.connect(address, folder / "trust" if tls else None) as cluster:
            connected = time.monotonic() - began
            bounds = [cluster.clock(name) for name in names[:8] for _ in range(4)]
            ways = []
            for _ in range(5):
                sent = clocks.now_ns()
                given = cluster.at_once({name: Call.of(clocks.now_ns) for name in names}, 60)
                arrived = [(found - sent) / 1e6 for found in given.values() if not isinstance(found, Lost)]
                assert len(arrived) == nodes, given
                ways.append((max(arrived), max(arrived) - min(arrived), (clocks.now_ns() - sent) / 1e6))
        time.sleep(2)
        before = [spent_s(process.pid) for process in running]
        time.sleep(idle_s)
        idle = [(spent_s(p.pid) - b) / idle_s * 100 for p, b in zip(running, before, strict=True)]
        memory = {key: [memory_mb(p.pid, key) for p in running] for key in ("Rss", "Pss")}
        processes = running[1:]
        return {
            "nodes": nodes, "tls": tls,
            "scheduler_start_s": round(served, 2), "all_joined_s": round(joined, 2), "connect_s": round(connected, 2),
            "cpu_to_join_s": round(statistics.median(before[1:]), 2), "processes": len(processes),
            "node_rss_mb": round(statistics.median(memory["Rss"][1:]), 1),
            "node_pss_mb": round(statistics.median(memory["Pss"][1:]), 1),
            "scheduler_rss_mb": round(memory["Rss"][0], 1),
            "node_idle_percent": round(statistics.median(idle[1:]), 2), "scheduler_idle_percent": round(idle[0], 2),
            "clock_bound_us": [round(f(c.bound_ns for c in bounds) / 1000) for f in (min, statistics.median, max)],
            "clock_error_us": round(max(abs(c.offset_ns) for c in bounds) / 1000, 1),
            "last_call_begins_ms": round(statistics.median(w[0] for w in ways), 1),
            "spread_ms": round(statistics.median(w[1] for w in ways), 1),
            "all_results_ms": round(statistics.median(w[2] for w in ways), 1),
        }  # fmt: skip
    finally:
        began = time.monotonic()
        for process in (*running[1:], scheduler):
            process.terminate()
        for process in (*running[1:], scheduler):
            process.communicate(timeout=60)
        print(f"ended after {time.monotonic() - began:.1f} s", file=sys.stderr)


def main() -> None:
    """One line of JSON for each number of nodes."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--nodes", default="4,16,48")
    words.add_argument("--idle", type=float, default=20.0)
    words.add_argument("--tls", action="store_true")
    chosen = words.parse_args()
    for nodes in map(int, chosen.nodes.split(",")):
        with tempfile.TemporaryDirectory(prefix="strata-fleet-") as folder:
            print(json.dumps(measured(nodes, chosen.idle, Path(folder), tls=chosen.tls)), flush=True)


if __name__ == "__main__":
    main()
