"""The file system begins off the medium's blocks: each I/O touches one block more, each write reads two before.

What a partition that begins at sector 63 does on a disk with blocks of 4 KiB that speaks of sectors of 512 bytes.
"""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._disk import medium, most, of_the_disk
from strata_lab.lab import Lab
from strata_lab.stacks import volume
from strata_lab.truth import How, ProofCell, Signal, per_severity

_BEGIN_BYTES = 63 * 512


def _inject(lab: Lab, value: float) -> None:
    volume.anew(lab, _BEGIN_BYTES)
    # After the file was written: that is no part of what is measured.
    medium(lab).set(block_svc=value)


INJECTION = of_the_disk(
    title="misaligned I/O",
    mechanism="the loop device begins at sector 63 of the modelled disk, whose blocks are 4 KiB (block); a block more "
    "that is touched, or read before a write, takes so long (block_svc)",
    value=per_severity(600, 2400, 7200),
    unit="µs for a block more (healthy: aligned, none)",
    inject=_inject,
    cell=ProofCell("file system", "randwrite", "8k", 8),
    impact=per_severity(1.4, 3, 7),
    signals=(
        Signal("disk.straddled_share", How.ABOVE, 0.9),
        Signal("disk.rmw_per_write", How.ABOVE, 1.8),
        Signal("disk.service_us", How.RISES, 1.5),
    ),
    must=(Cause.MISALIGNED,),
    also=("file system",),
    options={"model": "c=4 svc=2400 bw=250 block=4KiB"},
    # Three blocks more, and five are moved instead of two.
    ceiling=lambda more_us: most(5 * 4096, 2400 + 3 * more_us),
    everyday=True,
)
