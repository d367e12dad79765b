"""The workloads a diagnosis asks of every layer, and why each of them is there.

* **random read, 8 KiB, depth 1**: one request at a time has nobody to wait for, so its time is the base latency
  of the path. A layer that adds a constant time shows here as that time.
* **random and sequential, read and write, 8 KiB, depth 8**: the four patterns of the published sample. Which of
  the four fell is a fingerprint: only the sequential writes means reordering, all four means a wire or a cap.
* **random write, 8 KiB, depth 1**: a write and its flush with nobody to share the flush with, so its time is what a
  commit costs. Beside depth 8 it is the depth profile of writes: a delay of the path is paid by both directions, a slow
  flush or a full cache by writes alone.
* **random read, 8 KiB, depth 32**: four times the queue of the sample. A layer that serves few requests at once
  gives no more IOPS than at depth 8, only longer waits; a layer that adds plain latency scales.
* **sequential read and write, 128 KiB, depth 8**: sixteen times the bytes per request. Equal bytes per second at
  8 and 128 KiB means that bandwidth limits, equal IOPS means that the cost of a request does.

One thread each: a second one reorders a sequential stream, which would put a cause into the measurement that the
diagnosis is looking for. Everything is unbuffered, and writes are write-through (``sync=dsync``), because the
sources test so: a write that only reached a cache says nothing of the layer below.
"""

from __future__ import annotations

from strata.model.rw import Rw
from strata.model.workload import ClosedLoop, Sync, Workload
from strata.units import KIB


def _workload(rw: Rw, bs: int, iodepth: int) -> Workload:
    sync = Sync.DSYNC if rw.carries else Sync.NONE
    return Workload(rw=rw, bs=bs, arrival=ClosedLoop(iodepth=iodepth), sync=sync)


DIAGNOSE: tuple[Workload, ...] = (
    _workload(Rw.RANDREAD, 8 * KIB, 1),
    _workload(Rw.RANDREAD, 8 * KIB, 8),
    _workload(Rw.RANDREAD, 8 * KIB, 32),
    _workload(Rw.READ, 8 * KIB, 8),
    _workload(Rw.READ, 128 * KIB, 8),
    _workload(Rw.RANDWRITE, 8 * KIB, 1),
    _workload(Rw.RANDWRITE, 8 * KIB, 8),
    _workload(Rw.WRITE, 8 * KIB, 8),
    _workload(Rw.WRITE, 128 * KIB, 8),
)
"""The default set, reads first; the reasons stand in the head of this file."""
