"""What the lab disk costs and how exact it is: `python benches/lab/disk.py` (root; two minutes).

Each cell is measured once a round, in shuffled order, by the native engine on a loop device over the disk. The table
holds the median over the rounds, with the lowest and the highest.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from strata.engine import Request, Timing, engine_of
from strata.host.process import Child
from strata.model import histogram
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.plan.words import workload_from_words
from strata_lab.parts.disk import DiskControl

SIZE = 256 << 20
CELLS = [(model, rw, depth) for model in ("svc=0",) for rw in ("randread", "randwrite") for depth in (1, 8, 32)]
CELLS += [("c=8 svc=2000", "randread", 1), ("c=8 svc=2000", "randread", 8), ("c=8 svc=2000", "randread", 32)]
CELLS += [("c=1 svc=500", "randread", 8), ("c=64 svc=100", "randread", 1), ("c=64 svc=100", "randread", 32)]


@contextmanager
def device() -> Iterator[tuple[DiskControl, str]]:
    """A disk in memory and the loop device on it."""
    with tempfile.TemporaryDirectory() as directory:
        words = [sys.executable, "-m", "strata_lab.parts.disk", directory, "--size", str(SIZE)]
        with Child(words) as child:
            control = DiskControl(directory)
            control.wait(30, alive=lambda: child.returncode is None)
            losetup = ["losetup", "--find", "--show", "--direct-io=on", str(control.disk)]
            name = subprocess.run(losetup, check=True, capture_output=True, text=True).stdout.strip()
            try:
                yield control, name
            finally:
                subprocess.run(["losetup", "--detach", name], check=True)


def cell(control: DiskControl, name: str, model: str, rw: str, depth: int) -> tuple[float, float, float, float]:
    """IOPS, median and p99 of the service time in µs as the client saw them, and the mean lateness of the answers."""
    control.set(f"c=1 svc=0 {model} reset=1")
    request = Request(
        endpoint=Endpoint.parse(f"block:{name}"),
        workload=workload_from_words(rw, "4k", iodepth=depth),
        segments=(Segment(start=0, length=SIZE, target=0),),
        timing=Timing(ramp_s=0.2, runtime_s=1.0),
        allow_write=True,
    )
    seen = engine_of("native").run(request)
    took = seen.read if seen.read.ops else seen.write
    late = control.truth().late
    p50, p99 = histogram.quantiles(took.service_time, [0.5, 0.99])
    return seen.ops / seen.seconds, p50 / 1e3, p99 / 1e3, late.ns / max(1, late.n) / 1e3


def spread(values: list[float]) -> str:
    """The median, and the range."""
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


def main() -> int:
    """The table, as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    seen: dict[tuple[str, str, int], list[tuple[float, float, float, float]]] = {c: [] for c in CELLS}
    with device() as (control, name):
        # Memory that is touched for the first time is slower.
        subprocess.run(["dd", "if=/dev/zero", f"of={name}", "bs=1M", "oflag=direct", "status=none"], check=False)
        for _ in range(rounds):
            for key in random.sample(CELLS, len(CELLS)):
                seen[key].append(cell(control, name, *key))
    print("| model | load | depth | IOPS | p50 µs | p99 µs | answers late, mean µs |\n|---|---|---|---|---|---|---|")
    for (model, rw, depth), results in seen.items():
        columns = [spread([r[i] for r in results]) for i in range(4)]
        print(f"| `{model}` | {rw} 4k | {depth} | {' | '.join(columns)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
