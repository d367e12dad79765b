"""Are slow hosts found by their peers, and healthy fleets left alone: drawn fleets, and hosts that were measured.

``benches/fleet/peers.py [--quick]``. Ends with 1 where fewer than 95 % of the slow hosts are named with their layer, or
more than 1 % of healthy fleets have a named host, in the cases that the bars are for.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from strata.analyse.peers import Host, judge
from strata.engine import Timing, engine_of
from strata.engine.port import Request
from strata.engine.target import Backing, Shaping, TargetConfig, TargetProcess
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.step_figures import RoundTimes
from strata.model.workload import Workload
from strata.plan.words import workload_from_words

FOUND, FALSE = 0.95, 0.01
BELOW = {"disk": None, "file system": "disk", "share": "file system"}
COSTS = {"disk": 1e5, "file system": 1.1e5, "share": 3e5}
KEYS = {"r1": False, "r8": False, "r32": False, "w1": True, "w8": True}
ROUNDS = 6
Draw = Callable[[np.random.Generator, int], np.ndarray]


def normal(rng: np.random.Generator, n: int) -> np.ndarray:
    """As the line assumes."""
    return rng.standard_normal(n)


def heavy(rng: np.random.Generator, n: int) -> np.ndarray:
    """Student's t with 5 degrees of freedom, of variance 1: now and then a host is farther out."""
    return rng.standard_t(5, n) * math.sqrt(3 / 5)


def drawn(
    rng: np.random.Generator, hosts: int, draw: Draw, between: float, slow: tuple[int, str, float] | None = None
) -> list[Host]:
    """Hosts that differ by ``between`` in each layer, as a share; half as much again from round to round and cell.

    ``slow``: one host (its number), in one layer, so many times as long.
    """
    made = []
    for number in range(hosts):
        own = between * draw(rng, len(BELOW))
        noise = 1.5 * between * draw(rng, ROUNDS * len(KEYS) * len(BELOW)).reshape(ROUNDS, len(KEYS), len(BELOW))
        found = []
        for n in range(ROUNDS):
            for k, key in enumerate(KEYS):
                factor = 1.0
                for at, layer in enumerate(BELOW):
                    if slow is not None and slow[:2] == (number, layer):
                        factor *= slow[2]
                    # What a lower layer scatters, the upper ones wait for as well.
                    factor *= math.exp(own[at])
                    found.append(((layer, key), n, COSTS[layer] * factor * math.exp(noise[n, k, at])))
        made.append(Host(f"h{number}", RoundTimes(*zip(*found, strict=True))))
    return made


def right(
    hosts: list[Host], host: str | None, layer: str, below: dict[str, str | None], writes: dict[str, bool]
) -> bool:
    """Whether exactly that host is named, in that layer alone; None: nobody is."""
    named = {(d.host, d.layer) for d in judge(hosts, below, writes).differs}
    return named == (set() if host is None else {(host, layer)})


def wilson(k: int, n: int) -> tuple[float, float]:
    """95 % interval of a share."""
    z, p = 1.96, k / n
    mid, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, (mid - half) / (1 + z * z / n)), min(1.0, (mid + half) / (1 + z * z / n))


def share(k: int, n: int) -> str:
    """With its interval."""
    low, high = wilson(k, n)
    return f"{100 * k / n:.1f} % ({k} of {n}; {100 * low:.1f}–{100 * high:.1f})"


def simulated(quick: bool, sizes: Sequence[int]) -> bool:
    """The table of drawn fleets of so many hosts."""
    fine = True
    print("\n| drawn fleets of | scatter between hosts | noise | healthy with a named host | slow ×1.3 | ×1.5 | ×2 |")
    print("|---|---|---|---|---|---|---|")
    for hosts in sizes:
        times = (150 if quick else 600) // (1 if hosts < 64 else 2)
        for between in (0.01, 0.03):
            for draw in (normal, heavy):
                rng = np.random.default_rng([hosts, int(1000 * between), draw is heavy])
                false = sum(not right(drawn(rng, hosts, draw, between), None, "", BELOW, KEYS) for _ in range(times))
                row = [share(false, times)]
                for factor in (1.3, 1.5, 2.0):
                    found = 0
                    for n in range(times // 3):
                        layer = list(BELOW)[n % 3]
                        made = drawn(rng, hosts, draw, between, (n % hosts, layer, factor))
                        found += right(made, f"h{n % hosts}", layer, BELOW, KEYS)
                    row.append(share(found, times // 3))
                    # The bars: at least 16 hosts, a scatter of 1 %, half as slow again and more.
                    if hosts >= 16 and between == 0.01 and factor >= 1.5:
                        fine &= found >= FOUND * (times // 3)
                if draw is normal:
                    fine &= wilson(false, times)[0] <= FALSE
                print(f"| {hosts} | {100 * between:g} % | {draw.__name__} | {' | '.join(row)} |", flush=True)
    return fine


MS = 1_000_000
CELLS = {f"r{depth}": workload_from_words("randread", bs=4096, iodepth=depth, direct=False) for depth in (1, 4)}
"""Of the measured hosts: a disk that serves one request a millisecond, and a share of it over a wire of 1.5 ms."""


def measured_host(name: str, disk: float, wire: float, folder: Path, seconds: float) -> Host:
    """A host of two processes, one for each layer; ``disk`` and ``wire``: how many times as slow."""
    service = round(MS * disk)
    found = []
    with ExitStack() as held:
        ends = {}
        for layer, latency in (("disk", 0), ("share", round(1.5 * MS * wire))):
            shape = Shaping(service_threads=1, service_time_ns=service, latency_ns=latency)
            config = TargetConfig(
                tcp=None,
                unix=str(folder / f"{name}-{layer}"),
                backing=Backing(kind="null", size_bytes=64 << 20),
                shape=shape,
            )
            ends[layer] = Endpoint.parse(held.enter_context(TargetProcess(config)).uri(1))
        for n in range(ROUNDS):
            for layer, endpoint in ends.items():
                for key, workload in CELLS.items():
                    found.append(((layer, key), n, mean_ns(endpoint, workload, seconds, n)))
    return Host(name, RoundTimes(*zip(*found, strict=True)))


def mean_ns(endpoint: Endpoint, workload: Workload, seconds: float, n: int) -> float:
    """Of one step."""
    request = Request(
        endpoint=endpoint, workload=workload, segments=(Segment(start=0, length=64 << 20, target=0),), round_index=n,
        timing=Timing(ramp_s=0.02, runtime_s=seconds, interval_s=seconds),
    )  # fmt: skip
    result = engine_of("native").run(request)
    assert result.mean_service_ns is not None
    return float(result.mean_service_ns)


def real(quick: bool) -> bool:
    """Hosts that were measured; fleets are drawn from them."""
    healthy, slow = (24, 6) if quick else (40, 12)
    hosts = [(f"h{n}", 1.0, 1.0) for n in range(healthy)]
    hosts += [(f"d{n}", 1.5, 1.0) for n in range(slow)] + [(f"w{n}", 1.0, 2.0) for n in range(slow)]
    rng = np.random.default_rng(1)
    order = rng.permutation(len(hosts))
    began, said = time.monotonic(), threading.Lock()
    with tempfile.TemporaryDirectory(prefix="bench-peers-") as folder, ThreadPoolExecutor(8) as pool:

        def one(index: int) -> Host:
            made = measured_host(*hosts[index], Path(folder), 0.12 if quick else 0.25)
            with said:
                print(".", end="", file=sys.stderr, flush=True)
            return made

        pool_of = {host.name: host for host in pool.map(one, order)}
    print(
        f"\n\n{len(hosts)} hosts measured in {time.monotonic() - began:.0f} s, {ROUNDS} rounds, "
        f"load {os.getloadavg()[0]:.1f}"
    )
    below: dict[str, str | None] = {"disk": None, "share": "disk"}
    writes = dict.fromkeys(CELLS, False)
    views = judge([pool_of[f"h{n}"] for n in range(healthy)], below, writes).views
    print("scatter between healthy hosts: " + ", ".join(f"{v.layer} {100 * v.scatter:.1f} %" for v in views))
    print("\n| fleets of measured hosts, drawn with another choice each time | n hosts | |\n|---|---|---|")
    fine, times = True, 200 if quick else 1000
    for size in (8, 16):

        def some(but: int, size: int = size) -> list[Host]:
            return [pool_of[f"h{n}"] for n in rng.choice(healthy, size - but, replace=False)]

        false = sum(not right(some(0), None, "", below, writes) for _ in range(times))
        print(f"| healthy with a named host | {size} | {share(false, times)} |")
        for kind, layer in (("d", "disk"), ("w", "share")):
            found = sum(
                right([*some(1), pool_of[f"{kind}{n % slow}"]], f"{kind}{n % slow}", layer, below, writes)
                for n in range(times // 4)
            )
            what = "disk ×1.5" if kind == "d" else "wire ×2"
            print(f"| {what}: named, in its layer alone | {size} | {share(found, times // 4)} |", flush=True)
            fine &= size < 16 or found >= FOUND * (times // 4)
        fine &= wilson(false, times)[0] <= FALSE
    return fine


def main() -> int:
    """Both tables on stdout."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--quick", action="store_true")
    asked.add_argument("--hosts", type=int, nargs="+", default=[8, 16, 64])
    asked.add_argument("--only", choices=("drawn", "measured"))
    given = asked.parse_args()
    fine = True
    if given.only != "measured":
        fine &= simulated(given.quick, given.hosts)
    if given.only != "drawn":
        fine &= real(given.quick)
    print("\nthe bars are held" if fine else "\na bar is missed")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
