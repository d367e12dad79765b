"""A cache that was warm has been emptied: the same workload goes to the medium until it has been read again."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._disk import medium, of_the_disk
from strata_lab.inject._file import read_once, test_file
from strata_lab.lab import Lab
from strata_lab.truth import How, ProofCell, Signal, per_severity


def _inject(lab: Lab, value: float) -> None:
    disk = medium(lab)
    disk.set(rcache=0)
    disk.set(rcache=int(value * 2**20))


INJECTION = of_the_disk(
    title="cold cache",
    mechanism="the read cache of the modelled disk, warm before, is emptied and reduced to this size",
    value=per_severity(256, 8, 0),
    unit="MiB of cache, empty (healthy: 256 MiB, warm)",
    inject=_inject,
    # Short: where the cache stays as large as it was, it is warm again soon.
    cell=ProofCell("file system", "randread", "8k", 4, runtime="500ms"),
    impact=per_severity(1.3, 1.5, 1.5),
    signals=(Signal("disk.service_us", How.RISES, 1.3), Signal("disk.read_hit_share", How.FALLS, 1.1)),
    must=(Cause.COLD_CACHE,),
    partly=(Cause.SLOW_MEDIUM,),
    never=(Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.IOPS_CAP),
    options={"model": "c=4 svc=3200 bw=250 rcache=268435456 rcache_svc=20"},
    fades=True,
    prepare=lambda lab: read_once(test_file(lab)),
)
