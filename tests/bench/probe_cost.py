"""What the probes cost on this machine: processor time of each read, and of the whole sampler at two paces.

``python tests/bench/probe_cost.py [device ...]``; prints a table. It counts processor time, so that other
work on the machine hardly matters.
"""

from __future__ import annotations

import statistics
import sys
import time

from strata.host.proc import Sys
from strata.probes import PROBES, Sampler

READS, BLOCKS = 400, 9


def main(devices: list[str]) -> None:
    """Median over blocks of the mean of a block."""
    total = 0.0
    print(f"{'probe':10} {'columns':>7} {'µs/sample':>10} {'of which kernel':>16}")
    for name, opener in PROBES.items():
        probe = opener(devices, Sys())
        costs = []
        for _ in range(BLOCKS):
            begun, system = time.thread_time_ns(), _system_s()
            for _ in range(READS):
                probe.read()
            costs.append(((time.thread_time_ns() - begun) / READS / 1e3, (_system_s() - system) / READS * 1e6))
        cost, kernel = (statistics.median(c) for c in zip(*costs, strict=True))
        total += cost
        print(f"{name:10} {len(probe.columns):7} {cost:10.1f} {kernel:16.1f}")
        probe.close()
    print(f"{'all':10} {'':7} {total:10.1f}   = {total / 1e4:.4f} % of a core at 1 s, {total / 2.5e3:.4f} % at 0.25 s")
    for interval_s in (1.0, 0.25):
        begun, wall = time.process_time(), time.monotonic()
        sampler = Sampler(devices, interval_s).start()
        time.sleep(8)
        inside = time.process_time() - begun
        wall = time.monotonic() - wall
        sampler.stop()
        print(f"sampler at {interval_s} s for {wall:.1f} s: {inside * 100 / wall:.3f} % of a core, start included")


def _system_s() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_THREAD).ru_stime


if __name__ == "__main__":
    main(sys.argv[1:] or ["vda"])
