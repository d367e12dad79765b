"""Programs that run beside a diagnosis, as `python beside.py WHAT …`, each until SIGTERM; standard library only.

burn SHARE          one processor, so much of its time, in turns of 100 ms
write FILE MB       so many MB/s into a file of 64 MiB, past the page cache, each MiB made durable
stop MS PID …       the sessions of these processes stand still for so long, 400 ms apart on average
freeze PATH MS      the file system stands still for so long, 400 ms apart on average
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

TURN_S, APART_S = 0.1, 0.4
MIB, FILE_MIB = 1 << 20, 64
FIFREEZE, FITHAW = 0xC0045877, 0xC0045878


def burn(share: str) -> None:
    """Computes, and rests."""
    while True:
        until = time.monotonic() + TURN_S * float(share)
        while time.monotonic() < until:
            pass
        time.sleep(TURN_S * (1 - float(share)))


def write(file: str, mb_per_s: str) -> None:
    """The file goes when this ends."""
    try:
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_DIRECT | os.O_CLOEXEC, 0o600)
    except OSError:  # a file system without
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with mmap.mmap(-1, MIB) as piece:
            piece.write(os.urandom(MIB))
            for number in _forever():
                due = time.monotonic() + MIB / 1e6 / float(mb_per_s)
                os.pwrite(fd, piece, number % FILE_MIB * MIB)
                os.fdatasync(fd)
                time.sleep(max(0.0, due - time.monotonic()))
    finally:
        Path(file).unlink()


def stop(ms: str, *leaders: str) -> None:
    """Nothing is left standing when this ends."""
    while True:
        time.sleep(random.expovariate(1 / APART_S))
        found = _sessions({int(pid) for pid in leaders})
        try:
            _signal(found, signal.SIGSTOP)
            time.sleep(float(ms) / 1e3)
        finally:
            _signal(found, signal.SIGCONT)


def freeze(path: str, ms: str) -> None:
    """Nothing stays frozen when this ends."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    while True:
        time.sleep(random.expovariate(1 / APART_S))
        try:
            fcntl.ioctl(fd, FIFREEZE, 0)
            time.sleep(float(ms) / 1e3)
        finally:
            with contextlib.suppress(OSError):
                fcntl.ioctl(fd, FITHAW, 0)


def _forever() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def _sessions(leaders: set[int]) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[3]) in leaders:
                    found.append(int(entry.name))
    return found


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _end(*_: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    programs: dict[str, Callable[..., None]] = {
        "burn": burn,
        "write": write,
        "stop": stop,
        "freeze": freeze,
    }
    programs[sys.argv[1]](*sys.argv[2:])
