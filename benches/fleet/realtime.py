"""Whether real-time priority for the wait alone makes the starts of 16 nodes exact beside other work.

    python benches/fleet/realtime.py [--nodes 16] [--times 20] [--beside 6]      as root

The same nodes with and without it, and with and without so many processes that occupy the CPUs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from fleetbench import realtime  # noqa: E402
from fleetbench.nodes import nodes  # noqa: E402
from starts import request  # noqa: E402

from strata.fleet import Cluster, clients, clients_here  # noqa: E402
from strata.fleet.clients import NodesEngine  # noqa: E402
from strata.model.clients import clients_of  # noqa: E402

PLAIN = clients_here.measure_here


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that do nothing but occupy a CPU."""
    made = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in made:
            process.kill()
            process.wait()


def skews(engine: NodesEngine, count: int, times: int, measure: object) -> list[int]:
    """Of each start the last node's first I/O behind the first one's, in ns."""
    clients.measure_here = measure  # type: ignore[attr-defined]
    found = []
    for _ in range(times):
        told = clients_of(engine.run(request(count)))
        assert told is not None and told.start_skew is not None
        found.append(told.start_skew.ns)
    return found


def main() -> int:
    """The table on stdout."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--nodes", type=int, default=16)
    asked.add_argument("--times", type=int, default=20)
    asked.add_argument("--beside", type=int, default=6)
    given = asked.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), *sys.path])
    print(f"{given.nodes} nodes, {given.times} starts each, {len(os.sched_getaffinity(0))} CPUs\n", flush=True)
    print("| the wait | other processes | p50 | p90 | p99 | max |\n|---|---|---|---|---|---|")
    with (
        tempfile.TemporaryDirectory(prefix="bench-fleet-") as folder,
        nodes(given.nodes, Path(folder)) as (address, _),
        Cluster.connect(address) as cluster,
    ):
        engine = NodesEngine(cluster)
        for beside in (0, given.beside):
            for name, measure in (("ordinary", PLAIN), ("real-time", realtime.measure_here)):
                with busy(beside):
                    found = skews(engine, given.nodes, given.times, measure)
                quantiles = " | ".join(f"{np.quantile(found, q) / 1e3:.0f} µs" for q in (0.5, 0.9, 0.99))
                print(f"| {name} | {beside} | {quantiles} | {max(found) / 1e3:.0f} µs |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
