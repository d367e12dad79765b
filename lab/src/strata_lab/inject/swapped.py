"""The server serves another file than the layers below read: two similar volumes, compared by mistake."""

from __future__ import annotations

from strata.errors import RunFailed
from strata.host.block import SECTOR
from strata.model.finding import Cause
from strata_lab.inject._file import test_file, too_good
from strata_lab.inject._wire import server_node
from strata_lab.lab import Lab
from strata_lab.servers import nbd
from strata_lab.stacks import volume
from strata_lab.truth import How, ProofCell, Signal, per_severity


def _inject(lab: Lab, value: float) -> None:
    served = lab.last_fact("server", kind="nbd")
    if served is None:
        raise RunFailed("cannot swap the file of", lab.name, "it is not served over NBD", "--set protocol=nbd")
    kind = served["process"].rpartition("-")[0]
    other = lab.dir("disks") / "other.dat"
    size = int(test_file(lab).stat().st_size * value)
    # The server exports whole sectors. Of part of one it would tell more bytes than the mark in the file does, and
    # Strata refuses that before it measures anything.
    volume.make_file(other, size - size % SECTOR)
    lab.stop(lab.process(served["process"]))
    nbd.start(lab, server_node(lab), other, kind=kind)


INJECTION = too_good(
    title="the file swapped for another",
    layer="top",
    mechanism="the NBD server serves another file, of this many times the size, on the disk of this machine",
    value=per_severity(1, 0.5, 0.25),
    unit="times the size of the right one",
    inject=_inject,
    cell=ProofCell("top", "randread", "8k", 4),
    impact=per_severity(1.2, 1.2, 1.2),
    signals=(Signal("disk.ios", How.FALLS, 20),),
    must=(Cause.WRONG_FILE,),
    never=(Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.MEDIUM),
    stack="block-share",
    everyday=True,
)
