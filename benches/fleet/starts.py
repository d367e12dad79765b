"""How far apart the loads of many nodes begin: node processes of this machine, told one instant each on its own clock.

``benches/fleet/starts.py [--quick] [--nodes 16] [--times 30] [--beside 6]``: a table of the reached start skew, from
the first I/Os of the load loops themselves; alone, and beside so many processes that occupy the CPUs.
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

from fleetbench.nodes import nodes  # noqa: E402

from strata.engine import Timing  # noqa: E402
from strata.engine.port import Request  # noqa: E402
from strata.fleet import Cluster  # noqa: E402
from strata.fleet.clients import NodesEngine  # noqa: E402
from strata.model.clients import clients_of  # noqa: E402
from strata.model.endpoint import Endpoint  # noqa: E402
from strata.model.plan import Segment  # noqa: E402
from strata.plan.words import workload_from_words  # noqa: E402

RATE = 500.0
"""I/Os a second of each node: a load that waits for its I/Os, as one of storage does. The null endpoint answers at
once, and a closed loop on it would occupy the processors that the other nodes' threads need to begin."""


def request(clients: int) -> Request:
    """Half a second of random reads of the null endpoint by so many clients."""
    workload = workload_from_words("randread", clients=clients, rate_iops=RATE * clients, iodepth=4)
    return Request(
        endpoint=Endpoint.parse("null:"),
        workload=workload,
        segments=(Segment(start=0, length=1 << 30, target=0),),
        timing=Timing(ramp_s=0.2, runtime_s=0.3, interval_s=0.1),
    )


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


def main() -> int:
    """The table on stdout."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--quick", action="store_true")
    asked.add_argument("--nodes", type=int, default=16)
    asked.add_argument("--times", type=int, default=30)
    asked.add_argument("--beside", type=int, default=6)
    given = asked.parse_args()
    times = 5 if given.quick else given.times
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), *sys.path])
    print(
        f"{given.nodes} node processes, {times} starts each, {len(os.sched_getaffinity(0))} CPUs, real-time priority ",
        end="",
    )
    print(f"{'allowed' if os.geteuid() == 0 else 'not allowed without root'}\n")
    print("| first I/O of a load loop | other processes | p50 | p99 | max |\n|---|---|---|---|---|")
    bounds, lost = [], 0
    with (
        tempfile.TemporaryDirectory(prefix="bench-fleet-") as folder,
        nodes(given.nodes, Path(folder)) as (address, _),
        Cluster.connect(address) as cluster,
    ):
        engine = NodesEngine(cluster)
        for beside in (0, given.beside):
            spread, each = [], []
            with busy(beside):
                for _ in range(times):
                    found = clients_of(engine.run(request(given.nodes)))
                    assert found is not None and found.start_skew is not None
                    spread.append(found.start_skew.ns)
                    bounds.append(found.start_skew.bound_ns)
                    each += [one.after_ns for one in found.each if one.after_ns is not None]
                    lost += len(found.lost)
            for name, values in (("behind the first node's", each), ("last node's behind the first's", spread)):
                p50, p99 = (f"{np.quantile(values, q) / 1e3:.0f} µs" for q in (0.5, 0.99))
                print(f"| {name} | {beside} | {p50} | {p99} | {max(values) / 1e3:.0f} µs |", flush=True)
    print(f"bound of two clocks: at most {max(bounds) / 1e3:.0f} µs; {lost} results lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
