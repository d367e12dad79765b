"""What one process has spent up to now."""

from __future__ import annotations

import os
from dataclasses import dataclass

from strata.host.proc import Sys
from strata.units import NS_PER_S

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Spent:
    """Since the process began. None: the kernel does not tell (another user's I/O)."""

    user_s: float
    system_s: float
    run_delay_s: float | None
    switches: float | None
    read_bytes: float | None
    written_bytes: float | None
    resident_bytes: float
    threads: dict[str, tuple[int, int]]
    """(waited ns, times) of every thread that was ever seen: those that ended keep what they had."""


def fields_of(stat: str) -> list[str]:
    """The fields of /proc/<pid>/stat after the name, which may hold blanks and parentheses: the state is the first."""
    return stat.rpartition(")")[2].split()


def spent_of(sys: Sys, pid: int, start: int, before: Spent | None) -> Spent | None:
    """None when it is gone, or when another process has its number now."""
    fields = fields_of(sys.text(f"/proc/{pid}/stat") or "")
    if len(fields) < 22 or int(fields[19]) != start:
        return None
    io = dict(line.partition(": ")[::2] for line in sys.lines(f"/proc/{pid}/io"))
    threads = {} if before is None else dict(before.threads)
    for tid in sys.names(f"/proc/{pid}/task"):
        told = (sys.text(f"/proc/{pid}/task/{tid}/schedstat") or "").split()
        if len(told) == 3:
            threads[tid] = int(told[1]), int(told[2])
    return Spent(
        user_s=int(fields[11]) * _TICK_S,
        system_s=int(fields[12]) * _TICK_S,
        run_delay_s=sum(waited for waited, _ in threads.values()) / NS_PER_S if threads else None,
        switches=sum(times for _, times in threads.values()) if threads else None,
        read_bytes=_number(io.get("read_bytes")),
        written_bytes=_number(io.get("write_bytes")),
        resident_bytes=int(fields[21]) * _PAGE,
        threads=threads,
    )


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdigit() else None
