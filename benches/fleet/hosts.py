"""What a thousand hosts cost: node processes of this machine, forked from one that has loaded all and shares it.

``benches/fleet/hosts.py [--quick] [--hosts 16 64 256 512x2] [--file]``; 512x2: two clients on each of 512 hosts. 1,000
hosts are one more word of ``--hosts``: 16 GB, and more time than two cores have for them.

A row that fails is told, the others go on, and the exit status is 1. What a real host has for itself, two cores and
their memory carry here for all of them: times of starting and of results are upper bounds, those of the scheduler and
of whoever asks are their own.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from fleetbench.nodes import scheduler_of  # noqa: E402

from strata.engine import Timing  # noqa: E402
from strata.engine.port import Request  # noqa: E402
from strata.fleet import Cluster, doors, serving  # noqa: E402
from strata.fleet.clients import NodesEngine  # noqa: E402
from strata.fleet.settings import settle  # noqa: E402
from strata.host import testfile  # noqa: E402
from strata.model.clients import clients_of  # noqa: E402
from strata.model.endpoint import Endpoint  # noqa: E402
from strata.model.plan import Segment  # noqa: E402
from strata.plan.words import workload_from_words  # noqa: E402

RATE = 10.0
"""I/Os a second of each client: ten thousand of a thousand hosts, which two cores carry."""
HOSTS, QUICK = ("16", "64", "256", "512x2"), ("16", "64")
"""What two cores and 24 GB carry, in four minutes and in one."""
WAVE = 25
"""Nodes that begin at a time: each takes a core for a while."""
TICK = os.sysconf("SC_CLK_TCK")


@contextmanager
def forked(address: str, count: int, folder: Path) -> Iterator[list[int]]:
    """So many nodes; their processes end with the block, or with this one."""
    pids: list[int] = []
    try:
        for number in range(count):
            if (pid := os.fork()) == 0:
                _node(f"node-{number}", address, folder / f"node-{number}")
            pids.append(pid)
            if len(pids) % WAVE == 0 or number == count - 1:
                for n in range(max(0, number - WAVE), number + 1):
                    _wait_for(folder / f"node-{n}" / "ready")
        yield pids
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for pid in pids:
            os.waitpid(pid, 0)


def _node(name: str, address: str, folder: Path) -> None:
    """In the child; it never returns."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    # The scheduler and whoever asks have machines of their own in a fleet, and the cores first here.
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    try:
        folder.mkdir(parents=True)
        joining = serving.Joining(
            name=name, door=doors.parsed(address), trust=None, folder=folder, wait_s=60.0, absent=()
        )
        serving.join(joining, (folder / "ready").write_text)
    except BaseException as e:
        print(f"{name}: {e}", file=sys.stderr)
    finally:
        os._exit(1)


def _wait_for(path: Path) -> None:
    until = time.monotonic() + 120
    while not path.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"{path.parent.name} has not joined")
        time.sleep(0.01)


def memory(pid: int) -> tuple[float, float]:
    """(RSS, PSS) in MB."""
    told = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return tuple(int(told[key].split()[0]) / 1024 for key in ("Rss", "Pss"))  # type: ignore[return-value]


def spent_s(pid: int) -> float:
    """Processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class Timed:
    """A cluster, and how long each of its calls took: what the engine does one after the other."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self.took = cluster, {}  # type: ignore[var-annotated]
        self.began_ns = self.ended_ns = 0

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._cluster, name)
        if name not in ("ask_all", "clocks", "at_once"):
            return real

        def timed(*args: Any) -> Any:
            began = time.monotonic_ns()
            try:
                return real(*args)
            finally:
                ended = time.monotonic_ns()
                self.took[name] = (ended - began) / 1e9
                if name == "at_once":
                    self.began_ns, self.ended_ns = began, ended

        return timed


def request(clients: int, endpoint: Endpoint, size: int, seconds: float) -> Request:
    """Random reads at a low rate; the intervals are those of a live view."""
    workload = workload_from_words("randread", clients=clients, rate_iops=RATE * clients, iodepth=4, direct=False)
    return Request(
        endpoint=endpoint, workload=workload, segments=(Segment(start=0, length=size, target=0),),
        timing=Timing(ramp_s=0.5, runtime_s=seconds, interval_s=1.0),
    )  # fmt: skip


def row(hosts: int, each: int, folder: Path, path: Path | None, seconds: float) -> dict[str, str]:
    """All that is measured of so many hosts with ``each`` clients."""
    with scheduler_of(folder / "scheduler") as (address, scheduler):
        began, cost = time.monotonic(), spent_s(scheduler)
        with forked(address, hosts, folder / "nodes") as pids:
            joined_s, joining_s = time.monotonic() - began, spent_s(scheduler) - cost
            with Cluster.connect(address) as cluster:
                idle, at = spent_s(scheduler), time.monotonic()
                time.sleep(5)
                idle_share = (spent_s(scheduler) - idle) / (time.monotonic() - at)
                engine = NodesEngine(Timed(cluster))  # type: ignore[arg-type]
                timed: Timed = engine._cluster  # type: ignore[assignment]
                where = Endpoint.parse("null:") if path is None else Endpoint.parse(f"file:{path}")
                size = (1 << 30) if path is None else path.stat().st_size
                clients = hosts * each
                engine.run(request(clients, where, size, 3.0))
                before, busy_from = spent_s(scheduler), time.monotonic()
                own = resource.getrusage(resource.RUSAGE_SELF)
                result = engine.run(request(clients, where, size, seconds))
                ended = time.monotonic_ns()
                whole_s = time.monotonic() - busy_from
                scheduler_share = (spent_s(scheduler) - before) / whole_s
                after = resource.getrusage(resource.RUSAGE_SELF)
                merge_from = time.monotonic()
                found = clients_of(result)
                merge_s = time.monotonic() - merge_from
                assert found is not None and found.start_skew is not None and found.together is not None
                firsts = [
                    c.result.instants.first_io_ns - c.offset_ns
                    for c in result.clients
                    if c.result.instants is not None and c.result.instants.first_io_ns
                ]
                ends = max(
                    c.result.instants.measured_to_ns - c.offset_ns
                    for c in result.clients
                    if c.result.instants is not None
                )
                late = [c.result.instants.late_ns for c in result.clients if c.result.instants is not None]
                spread = np.sort(np.array(firsts) - min(firsts)) / 1e6
                some = [memory(pid) for pid in pids[:: max(1, hosts // 32)]]
                return {
                    "hosts": str(hosts),
                    "clients": str(clients),
                    "lost": str(len(result.lost)),
                    "joined, s (scheduler's CPU)": f"{joined_s:.1f} ({joining_s:.1f})",
                    "node RSS · PSS, MB": f"{np.mean([m[0] for m in some]):.0f} · {np.mean([m[1] for m in some]):.1f}",
                    "scheduler RSS, MB": f"{memory(scheduler)[0]:.0f}",
                    "asking process RSS, MB": f"{after.ru_maxrss / 1024:.0f}",
                    "idle scheduler, of a core": f"{100 * idle_share:.1f} %",
                    "scheduler in a run": f"{100 * scheduler_share:.0f} %",
                    "one call to all, s": f"{timed.took['ask_all']:.2f}",
                    "all clocks, s": f"{timed.took['clocks']:.2f}",
                    "graph to first I/O, s": f"{(min(firsts) - timed.began_ns) / 1e9:.2f}",
                    "late for the instant": f"{sum(x > 1e6 for x in late)} (most {max(late) / 1e6:.1f} ms)",
                    "start skew p50 · p99 · max, ms": " · ".join(
                        f"{x:.2f}" for x in (np.median(spread), np.quantile(spread, 0.99), spread[-1])
                    ),
                    "last I/O to all results, s": f"{(timed.ended_ns - ends) / 1e9:.2f}",
                    "results read and summed, s": f"{(ended - timed.ended_ns) / 1e9:.2f}",
                    "clients' table (merge), s": f"{merge_s:.2f}",
                    "asking process, CPU s": f"{after.ru_utime + after.ru_stime - own.ru_utime - own.ru_stime:.1f}",
                    "result, KB a client": f"{len(result.model_dump_json()) / 1024 / clients:.1f}",
                }


def main() -> int:
    """The table on stdout, one column for each number of hosts."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--quick", action="store_true")
    asked.add_argument("--hosts", type=size_of, nargs="+", metavar="HOSTS[xCLIENTS]", help="CLIENTS: of each host, 1")
    asked.add_argument("--seconds", type=float, default=5.0)
    asked.add_argument("--file", action="store_true", help="a file in place of the null endpoint")
    given = asked.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), *sys.path])
    sizes = given.hosts or [size_of(word) for word in (QUICK if given.quick else HOSTS)]
    # Loaded once, before anything is forked, and kept out of the collector, which would write to every page.
    settle(whole=True)
    import strata.fleet.clients_here
    import strata.fleet.scheduler
    import strata.fleet.worker  # noqa: F401

    gc.collect()
    gc.freeze()
    rows, failed = [], []
    for hosts, each in sizes:
        # Each in a process of its own: this one stays without threads, which a fork would not take along.
        if (reading := _apart(hosts, each, given)) is None:
            failed.append(f"{hosts} hosts with {each} clients each")
            print(f"{failed[-1]}: failed", file=sys.stderr, flush=True)
            continue
        rows.append(reading)
        print(f"{hosts} hosts with {each} clients each: {reading}", file=sys.stderr, flush=True)
    print(
        f"\n{len(os.sched_getaffinity(0))} CPUs, load average {os.getloadavg()[0]:.1f}, "
        f"{'file' if given.file else 'null'}\n"
    )
    for name in rows[0] if rows else ():
        print(f"| {name} | {' | '.join(r[name] for r in rows)} |")
        if name == "hosts":
            print("|---|" + "---|" * len(rows))
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return 1 if failed else 0


def size_of(word: str) -> tuple[int, int]:
    """(hosts, clients of each) of ``512x2``, or of ``512``. Raises `ValueError`."""
    hosts, _, each = word.partition("x")
    return int(hosts), int(each or 1)


def _apart(count: int, each: int, given: argparse.Namespace) -> dict[str, str] | None:
    import json

    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        os.close(reading)
        try:
            with tempfile.TemporaryDirectory(prefix="bench-hosts-") as folder:
                if given.file:
                    with testfile.new(Path(folder) / "data", 256 << 20) as held:
                        made = row(count, each, Path(folder), held.path, given.seconds)
                        held.remove()
                else:
                    made = row(count, each, Path(folder), None, given.seconds)
            os.write(writing, json.dumps(made).encode())
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    return dict(json.loads(text)) if text else None


if __name__ == "__main__":
    sys.exit(main())
