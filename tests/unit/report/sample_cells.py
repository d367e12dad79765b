"""The cells of the sample report: three layers, eight workloads, five rounds, a wire that limits.

The figures are made up, but they obey the laws the checks ask for: rate × latency = depth, nothing is faster
than what is below it, and the share stops at 110 MiB/s.
"""

from __future__ import annotations

import random
from math import exp

from strata.model.analysis import (
    CellSummary,
    Comparison,
    Equivalence,
)
from strata.model.ends import CycleCost, Flow, LatencySplit, PercentileSplit
from strata.model.estimate import Estimate
from strata.model.rw import Rw
from strata.model.workload import ClosedLoop, Workload

GIB = 1 << 30
MADE = 1_773_480_360_000_000_000
RAW = "a raw device is only read"
LAYERS = ("disk", "file system", "share")


def workload(rw: Rw, bs: int, depth: int, mix: int | None = None) -> Workload:
    return Workload(rw=rw, bs=bs, arrival=ClosedLoop(iodepth=depth), rwmixread=mix)


# workload → IOPS at disk, file system, share
FIGURES: dict[Workload, tuple[float | None, float, float]] = {
    workload(Rw.READ, 128 << 10, 8): (4212, 4198, 878),
    workload(Rw.WRITE, 128 << 10, 8): (None, 3874, 871),
    workload(Rw.RANDREAD, 4 << 10, 1): (9812, 9731, 5103),
    workload(Rw.RANDREAD, 4 << 10, 32): (88120, 86410, 27920),
    workload(Rw.RANDWRITE, 4 << 10, 1): (None, 21240, 7190),
    workload(Rw.RANDWRITE, 4 << 10, 32): (None, 71330, 27790),
    workload(Rw.RANDREAD, 64 << 10, 8): (7912, 7870, 1757),
    workload(Rw.RANDRW, 8 << 10, 8, 70): (None, 33120, 13890),
}
CONFIRM = workload(Rw.RANDREAD, 1 << 10, 32)


def estimate(value: float, share: float, unit: str, n: int = 5) -> Estimate:
    return Estimate(value=value, low=value * (1 - share), high=value * (1 + share), n=n, unit=unit)


def _curve(mean: float, tail: float) -> tuple[tuple[float, float], ...]:
    points = (0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
    spread = (-1.1, -0.8, -0.55, -0.42, -0.2, -0.03, 0.16, 0.36, 0.52, 1.0, 1.25, 1.9, 2.2, 2.9)
    return tuple((p, mean * exp(s * tail)) for p, s in zip(points, spread, strict=True))


def summary(layer: str, w: Workload, iops: float, rng: random.Random, steps: dict[tuple[str, int], int]) -> CellSummary:
    mean = w.outstanding / iops * 1e9
    curve = _curve(mean, {"disk": 0.8, "file system": 0.85, "share": 0.55}[layer])
    at = dict(curve)
    latency = {
        key: estimate(at[float(key)], 0.03 if key != "99.9" else 0.09, "ns") for key in ("50", "90", "99", "99.9")
    }
    timeline = []
    for r in range(5):
        begin = steps[f"{layer}/{w.key}", r + 1] * 2.5
        timeline += [(r, begin + 0.5 + i * 0.25, iops * rng.gauss(1 - 0.01 * r, 0.035)) for i in range(8)]
    busy = min(0.95, 0.06 + iops / 240_000 + (0.14 if layer == "share" else 0))
    return CellSummary(
        layer=layer,
        workload=w,
        rounds=5,
        ios=round(iops * 10),
        iops=estimate(iops, rng.uniform(0.006, 0.02), "IOPS"),
        bytes_per_second=estimate(iops * w.bs, 0.012, "bytes/s"),
        mean_ns=estimate(mean, 0.013, "ns"),
        latency_ns=latency,
        curve=curve,
        outstanding=w.outstanding * rng.uniform(0.985, 1.0),
        cpu_busy=busy,
        cpu_busiest=min(1.0, busy * 1.7),
        cpu_steal=0.004,
        engine_cpu_ns_per_io=2_140 if layer != "share" else 5_870,
        device_read_bytes_per_byte=(1.0 if w.rw.reads else 0.0) if layer != "share" else None,
        device_in_flight=w.outstanding * (0.98 if layer == "disk" else 0.95 if layer == "file system" else 0.31),
        device_busy_ns_per_io=mean * 0.97,
        wire_bytes_per_byte=1.012 + 60 / w.bs if layer == "share" else None,
        counters={
            "blockdev_reads{device=sda}": iops,
            "net_bytes{direction=tx,interface=lo}": iops * w.bs,
            "pressure_seconds{kind=some,resource=io}": 0.42,
            **({"tcp_rtt_seconds{connection=0,end=client,peer=10.0.7.2:10809}": 8.1e-5} if layer == "share" else {}),
        },
        flows=_flows(layer, w),
        cycles=_cycles(layer, w, iops),
        splits=_splits(layer, w, mean),
        notes=("sda moved 1.31 bytes per byte written: journal, copies, whole blocks for parts, or other I/O",)
        if layer == "file system" and w.rw is Rw.RANDWRITE
        else (),
        absent=("cycles: no cycles: the CPU has no counters, or the hypervisor hides them",),
        timeline=tuple(timeline),
    )


def _flows(layer: str, w: Workload) -> tuple[Flow, ...]:
    of = "write" if w.rw in (Rw.WRITE, Rw.RANDWRITE) else "read"
    found = [
        Flow(place="device sda", direction=of, of=of, per_byte=estimate(1.31 if of == "write" else 1.0, 0.01, "1"))
    ]
    if layer == "share":
        towards = "tx" if of == "write" else "rx"
        found.append(
            Flow(place="wire eth0", node="node-1", direction=towards, of=of, per_byte=estimate(1.03, 0.01, "1"))
        )
    return tuple(found)


def _cycles(layer: str, w: Workload, iops: float) -> tuple[CycleCost, ...]:
    source = "CPU time × clock (2.70 GHz, as cpufreq reads it)"
    ends = {"machine": 52_000.0, "server smbd": 31_000.0} if layer == "share" else {"machine": 21_000.0}
    return tuple(
        CycleCost(
            end=end,
            node="node-2" if end.startswith("server") else None,
            kernel_per_byte=estimate(each / w.bs, 0.02, "cycles/B"),
            user_per_byte=estimate(each / w.bs / 4, 0.02, "cycles/B"),
            kernel_per_io=estimate(each, 0.02, "cycles"),
            user_per_io=estimate(each / 4, 0.02, "cycles"),
            clock_hz=2.7e9,
            source=source,
        )
        for end, each in ends.items()
    )


def _splits(layer: str, w: Workload, mean: float) -> tuple[LatencySplit, ...]:
    if layer != "share":
        return ()
    return (
        LatencySplit(
            direction="write" if w.rw in (Rw.WRITE, Rw.RANDWRITE) else "read",
            server="target",
            client_ns=estimate(mean, 0.013, "ns"),
            server_ns=estimate(mean * 0.4, 0.02, "ns"),
            wire_ns=estimate(mean * 0.6, 0.03, "ns"),
            percentiles=tuple(
                PercentileSplit(
                    percentile=p,
                    client_ns=estimate(mean * factor, 0.03, "ns"),
                    server_ns=estimate(mean * factor * 0.3, 0.03, "ns"),
                    difference_ns=estimate(mean * factor * 0.7, 0.03, "ns"),
                )
                for p, factor in (("50", 0.9), ("99", 2.7))
            ),
        ),
    )


def comparison(above: CellSummary, below: CellSummary, allowed: float) -> Comparison:
    value = above.iops.value / below.iops.value
    verdict = Equivalence.WITHIN if value > 1 - allowed else Equivalence.ABOVE
    added = above.mean_ns.value - below.mean_ns.value
    return Comparison(
        layer=above.layer,
        below=below.layer,
        workload_key=above.workload.key,
        iops=estimate(value, 0.012, "ratio"),
        latency={k: estimate(v.value / below.latency_ns[k].value, 0.03, "ratio") for k, v in above.latency_ns.items()},
        added_ns=Estimate(
            value=added, low=added - above.mean_ns.value * 0.02, high=added + above.mean_ns.value * 0.02, n=5, unit="ns"
        ),
        expected_overhead=allowed,
        allowance=allowed,
        verdict=verdict,
    )
