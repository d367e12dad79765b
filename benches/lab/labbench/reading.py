"""Counters of a whole lab at one instant: bytes on each node's wires, processor time of the lab and of the machine."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from strata_lab.parts.disk import DiskControl
from strata_lab.proc import marked

CLONE_NEWNET = 0x40000000
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Reading:
    """``sent``: bytes each node has sent on all interfaces but its loopback. ``media_bytes``: what the modelled disks
    have read and written. Processor times in seconds since ever.

    ``path_s``: user and system time of every process of the lab, by process id; modelled disks too.
    ``kernel_s``, ``busy_s``: of the whole machine, interrupts included; idle and steal are in neither.
    """

    at_s: float
    sent: Mapping[str, int]
    media_bytes: int
    path_s: Mapping[int, float]
    kernel_s: float
    busy_s: float


@dataclass(frozen=True)
class Between:
    """What happened from one reading to a later one."""

    seconds: float
    sent: Mapping[str, int]
    media_bytes: int
    path_s: float
    kernel_s: float
    busy_s: float

    @property
    def sent_by_all(self) -> int:
        """Each byte once, at its sender."""
        return sum(self.sent.values())


def read(nodes: Mapping[str, str], token: str, media: Sequence[DiskControl] = ()) -> Reading:
    """``nodes``: path of the namespace by name. ``token``: what the lab's processes carry in their environment."""
    busy, kernel = _machine()
    return Reading(
        at_s=time.monotonic(),
        sent={name: _sent(path) for name, path in nodes.items()},
        media_bytes=sum(t.read.bytes + t.write.bytes for t in (disk.truth() for disk in media)),
        path_s=_processes(token),
        kernel_s=kernel,
        busy_s=busy,
    )


def between(first: Reading, last: Reading) -> Between:
    """The difference. A process that ended meanwhile counts for nothing: a lab's servers do not end."""
    return Between(
        seconds=last.at_s - first.at_s,
        sent={name: last.sent[name] - first.sent[name] for name in first.sent},
        media_bytes=last.media_bytes - first.media_bytes,
        path_s=sum(s - first.path_s.get(pid, 0.0) for pid, s in last.path_s.items()),
        kernel_s=last.kernel_s - first.kernel_s,
        busy_s=last.busy_s - first.busy_s,
    )


def _sent(netns: str) -> int:
    """Looked up by a thread: each has a network namespace of its own, and the process stays where it is."""
    found: list[int | OSError] = []

    def look() -> None:
        try:
            fd = os.open(netns, os.O_RDONLY | os.O_CLOEXEC)
            try:
                _setns(fd)
            finally:
                os.close(fd)
            found.append(parse_sent(Path("/proc/thread-self/net/dev").read_text()))
        except OSError as e:
            found.append(e)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    if isinstance(found[0], OSError):
        raise found[0]
    return found[0]


def _setns(fd: int) -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(fd, CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def parse_sent(text: str) -> int:
    """Bytes sent of /proc/net/dev, loopback left out: nothing of it is on a wire."""
    rows = (line.split(":", 1) for line in text.splitlines()[2:])
    return sum(int(fields.split()[8]) for name, fields in rows if name.strip() != "lo")


def _machine() -> tuple[float, float]:
    user, nice, system, _idle, _iowait, irq, soft = (
        int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8]
    )
    kernel = system + irq + soft
    return (user + nice + kernel) * TICK_S, kernel * TICK_S


def _processes(token: str) -> dict[int, float]:
    times = {}
    for pid, _ in marked(token):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        times[pid] = (int(fields[11]) + int(fields[12])) * TICK_S
    return times
