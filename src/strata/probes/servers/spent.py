"""What one process, and each of its threads, has spent up to now."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from strata.host.proc import Sys
from strata.probes.processes import TICK_S, fields_of, names_in

_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Thread:
    """Since it began, in ns: on a CPU, ready and waiting for one; and how often it was given one."""

    ran_ns: int
    waited_ns: int
    times: int


@dataclass(frozen=True)
class Spent:
    """Since the process began. None: the kernel does not tell (another user's I/O).

    ``user_s`` and ``system_s`` have what its ended children spent in them, once it has waited for them; so have the
    bytes. ``reaped_s`` is that part of both.
    """

    user_s: float
    system_s: float
    reaped_s: float
    read_bytes: float | None
    written_bytes: float | None
    resident_bytes: float
    threads: dict[str, Thread]
    """Every thread that was ever seen: those that ended keep what they had."""


def spent_of(sys: Sys, pid: int, start: int, before: Spent | None) -> Spent | None:
    """None when it is gone, or when another process has its number now."""
    home = sys.at(f"/proc/{pid}")
    fields = fields_of(_read(home / "stat"))
    if len(fields) < 22 or int(fields[19]) != start:
        return None
    io = dict(line.partition(": ")[::2] for line in _read(home / "io").split("\n"))
    threads = {} if before is None else dict(before.threads)
    for tid in names_in(home / "task"):
        told = _read(f"{home}/task/{tid}/schedstat").split()
        if len(told) == 3:
            threads[tid] = Thread(int(told[0]), int(told[1]), int(told[2]))
    own_user, own_system, user, system = (int(field) * TICK_S for field in fields[11:15])
    return Spent(
        user_s=own_user + user,
        system_s=own_system + system,
        reaped_s=user + system,
        read_bytes=_number(io.get("read_bytes")),
        written_bytes=_number(io.get("write_bytes")),
        resident_bytes=int(fields[21]) * _PAGE,
        threads=threads,
    )


def _read(path: Path | str) -> str:
    # A server may have hundreds of threads: a descriptor is half the price of a file.
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(fd, 4096).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(fd)


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdigit() else None
