"""Parts of the file were never written: reading them needs no medium, and the figures are too good."""

from __future__ import annotations

import ctypes
import os

from strata.errors import RunFailed
from strata.model.finding import Cause
from strata_lab.inject._file import test_file, too_good
from strata_lab.lab import Lab
from strata_lab.truth import How, ProofCell, Signal, per_severity

_KEEP_SIZE_AND_PUNCH = 1 | 2
_PIECE_BYTES = 1 << 20


def _inject(lab: Lab, value: float) -> None:
    path = test_file(lab)
    with path.open("r+b") as f:
        pieces = path.stat().st_size // _PIECE_BYTES
        # The first piece holds the mark. Spread evenly: a piece goes where the running share passes a whole number.
        for piece in range(1, pieces):
            if int((piece + 1) * value) > int(piece * value):
                _punch(f.fileno(), piece * _PIECE_BYTES, _PIECE_BYTES)
        os.fsync(f.fileno())


def _punch(fd: int, offset: int, length: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.fallocate(fd, _KEEP_SIZE_AND_PUNCH, ctypes.c_long(offset), ctypes.c_long(length)):
        raise RunFailed("cannot punch holes into", "the lab's test file", os.strerror(ctypes.get_errno()))


INJECTION = too_good(
    title="holes",
    layer="file system",
    mechanism="this share of the test file is deallocated in pieces of 1 MiB (fallocate --punch-hole)",
    value=per_severity(0.25, 0.5, 0.9),
    unit="share of the file",
    bounds=(0, 0.97),
    inject=_inject,
    cell=ProofCell("file system", "randread", "8k", 4),
    impact=per_severity(1.1, 1.4, 2.5),
    signals=(Signal("disk.ios_per_io", How.FALLS, 1.1), Signal("disk.service_us", How.STAYS, 1.3)),
    must=(Cause.HOLES,),
    never=(Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.IOPS_CAP, Cause.PROCESSORS),
)
