"""The test file fits into a cache of the device: the figures are the cache's, not the medium's."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._disk import medium
from strata_lab.inject._file import read_once, test_file, too_good
from strata_lab.lab import Lab
from strata_lab.truth import How, ProofCell, Signal, per_severity


def _inject(lab: Lab, value: float) -> None:
    file = test_file(lab)
    medium(lab).set(rcache=int(file.stat().st_size * value), rcache_svc=20)
    read_once(file)


INJECTION = too_good(
    title="the file fits into a cache",
    layer="disk",
    mechanism="the modelled disk has a read cache of this many times the test file, warmed by reading the file once",
    value=per_severity(0.8, 1.2, 4),
    unit="times the file's size",
    inject=_inject,
    cell=ProofCell("file system", "randread", "8k", 4),
    impact=per_severity(1.2, 2, 2),
    signals=(Signal("disk.read_hit_share", How.ABOVE, 0.3), Signal("disk.service_us", How.FALLS, 1.2)),
    must=(Cause.CACHE_FLATTERS,),
    never=(Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.IOPS_CAP),
    everyday=True,
)
