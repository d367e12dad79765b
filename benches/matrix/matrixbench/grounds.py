"""The real endpoints: what each is and how it is driven."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from strata.engine import Backing, Shaping, TargetConfig, TargetProcess
from strata.errors import StrataError

SIZE = 256 << 20
LAB_MODEL = "c=4 svc=1000 bw=100"
"""Of the lab disk: four servers, 1 ms and 100 MB/s each: 961 IOPS at 4 KiB and depth 1, 640 of 512 KiB at any depth
from 4 on. Slow enough that the way through kernel and back is small beside it."""


class CannotMeasure(Exception):
    """This endpoint cannot be had here; the text says why."""


@dataclass(frozen=True)
class Ground:
    """An endpoint and how it is driven."""

    name: str
    uri: str
    buffered: bool
    destructive: str | None = None
    """Said as on the command line: its content, made for this, may be lost."""


@contextmanager
def ground(kind: str, directory: Path) -> Iterator[Ground]:
    """``cache``: a file in the page cache; ``target``: an NBD server of Strata's with a set service time; ``lab``: a
    modelled disk of the lab behind a loop device and ext4; ``disk``: the medium under the directory, unbuffered.

    The two with a set service time keep the processors awake: how long one takes to wake up is this hour's, and half of
    what equal starts of a shallow cell differ by. Raises `CannotMeasure` where the machine does not allow it.
    """
    if kind == "target":
        # The bandwidth, so that large blocks do not run into what this machine can copy: that has no set rate.
        shape = Shaping(service_threads=4, service_time_ns=1_000_000, bandwidth_bytes_per_s=500_000_000)
        config = TargetConfig(backing=Backing(kind="memory", size_bytes=SIZE, read_only=False), shape=shape)
        with _awake(), TargetProcess(config) as server:
            uri = server.uri(1)
            yield Ground("shaped target: 4 servers of 1 ms, 500 MB/s", uri, buffered=False, destructive=uri)
        return
    if kind == "lab":
        with _awake(), _lab_disk() as mounted:
            name = "lab disk: 4 servers of 1 ms and 100 MB/s"
            yield Ground(name, f"file:{mounted / 'strata-matrix.dat'}", buffered=False)
        return
    path = directory / f"strata-matrix-{os.getpid()}.dat"
    name = "file in the page cache" if kind == "cache" else "disk file, unbuffered"
    yield Ground(name, f"file:{path}", buffered=kind == "cache")


@contextmanager
def _awake() -> Iterator[None]:
    """Processors that idle without sleeping, where the kernel lets us ask for it; it forgets it when the file is
    closed, however this process ends (Documentation/power/pm_qos_interface)."""
    try:
        asked = os.open("/dev/cpu_dma_latency", os.O_WRONLY)
    except OSError:
        yield
        return
    try:
        os.write(asked, (0).to_bytes(4, sys.byteorder))
        yield
    finally:
        os.close(asked)


@contextmanager
def _lab_disk() -> Iterator[Path]:
    """Where its file system is mounted; lab and device are removed again."""
    from strata_lab import disks, where
    from strata_lab.down import down
    from strata_lab.lab import Lab

    if not where.is_root():
        raise CannotMeasure("the lab disk needs root: a loop device on a file system in user space")
    lab = Lab.create(f"mb{os.getpid()}", "bench-matrix")
    try:
        try:
            with lab.ledger.locked():
                device = disks.attach(lab, disks.modelled(lab, "matrix", 2 * SIZE, LAB_MODEL).disk)
                # Neighbours that meet in the queue would go as one, now and then: up to 9 % more than the servers can.
                disks.set_queue(lab, device, "nomerges", "2")
                disks.make_fs(device, "ext4")
                mounted = disks.mount(lab, device, "matrix")
        except StrataError as e:
            raise CannotMeasure(f"no lab disk: {e.headline}") from e
        yield mounted
    finally:
        down(lab)
