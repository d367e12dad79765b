"""A long load in a process of its own: a file, an export and nothing at all, driven at once, over and over.

Run as ``python soak.py SECONDS DIRECTORY``; the last line of stdout is one JSON document.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from strata import units
from strata.engine import Backing, TargetConfig, TargetProcess, Timing, build_job, file_segments, fill, run_job
from strata.host import testfile
from strata.host.mark import header_bytes
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.result import EngineResult
from strata.plan.words import workload_from_words

SIZE = 32 * units.MIB
ROUND_S = (0.5, 15.0)
"""A round lasts a twentieth of the whole within these bounds: each starts and ends three jobs."""


def footprint(pid: int) -> dict[str, int]:
    """Resident bytes, open descriptors and threads of a process."""
    proc = Path("/proc") / str(pid)
    pages = int((proc / "statm").read_text().split()[1])
    return {
        "rss": pages * os.sysconf("SC_PAGESIZE"),
        "fds": len(list((proc / "fd").iterdir())),
        "threads": len(list((proc / "task").iterdir())),
    }


class Load:
    """The three jobs of a round. What ends by time, what ends by a word, a closed and an open loop."""

    def __init__(self, path: Path, export: str) -> None:
        segments = file_segments(SIZE)
        mixed = workload_from_words("randrw", "4k", iodepth=16, rwmixread=70)
        paced = workload_from_words("randread", "4k", iodepth=64, rate_iops=20_000, process="poisson")
        whole = (Segment(start=0, length=SIZE, target=0),)
        self.of = {
            "file": (Endpoint.parse(f"file:{path}"), mixed, segments),
            "nbd": (Endpoint.parse(export), workload_from_words("randrw", "16k", iodepth=8, threads=2), whole),
            "null": (Endpoint.parse("null:"), paced, whole),
        }

    def run(self, name: str, seconds: float, number: int) -> EngineResult:
        """One job; ``null`` is stopped by a word, the others by their time."""
        endpoint, workload, segments = self.of[name]
        stopped = name == "null"
        timing = Timing(ramp_s=0.05, runtime_s=seconds * (10 if stopped else 1), interval_s=min(1.0, seconds / 4))
        job = build_job(endpoint, workload, segments, timing, round_index=number)
        end = time.monotonic() + seconds
        return run_job(job, None, lambda: stopped and time.monotonic() > end)


def soak(seconds: float, directory: Path) -> dict[str, object]:
    """Everything that was issued, and the footprint of both processes after each round."""
    path = directory / "soak.dat"
    mark = testfile.create(path, SIZE)
    fill(str(path), SIZE, 1, header_bytes(mark))
    config = TargetConfig(
        unix=str(directory / "s"), tcp=None, backing=Backing(kind="memory", size_bytes=SIZE, read_only=False)
    )
    length = min(max(seconds / 20, ROUND_S[0]), ROUND_S[1])
    rounds: list[dict[str, object]] = []
    totals: dict[str, dict[str, int]] = {}
    with TargetProcess(config) as server:
        load = Load(path, server.uri(2))
        idle = {pid: footprint(pid) for pid in (os.getpid(), server.pid)}
        begun, number = time.monotonic(), 0
        while time.monotonic() - begun < seconds:
            with ThreadPoolExecutor(len(load.of)) as at_once:
                jobs = {name: at_once.submit(load.run, name, length, number) for name in load.of}
            for name, job in jobs.items():
                add(totals.setdefault(name, {}), job.result())
            number += 1
            for pid, before in idle.items():
                settle(pid, before)
            rounds.append(
                {"s": time.monotonic() - begun, "driver": footprint(os.getpid()), "server": footprint(server.pid)}
            )
    testfile.remove(path, mark)
    return {"totals": totals, "rounds": rounds, "alive": threading.active_count()}


def add(totals: dict[str, int], result: EngineResult) -> None:
    """Counts of one more job."""
    counts = {
        "jobs": 1,
        "issued": result.issued,
        "completed": result.completed,
        "errored": result.errored,
        "stuck": result.stuck,
        "measured": result.ops,
        "in_intervals": sum(i.read.ops + i.write.ops for i in result.intervals),
        "lost": int(result.message is not None),
    }
    for name, count in counts.items():
        totals[name] = totals.get(name, 0) + count


def settle(pid: int, idle: dict[str, int]) -> None:
    """Until ended threads and closed connections are gone, five seconds at most: what stays then has leaked."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        now = footprint(pid)
        if now["threads"] <= idle["threads"] and now["fds"] <= idle["fds"]:
            return
        time.sleep(0.02)


if __name__ == "__main__":
    print(json.dumps(soak(float(sys.argv[1]), Path(sys.argv[2]))))
