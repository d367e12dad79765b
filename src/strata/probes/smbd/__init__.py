"""A Samba server's own times: what the protocol took there, and what the file system under it took.

Reads    ``smbstatus -P`` with the server's configuration file, at the two ends of a measurement only.
Makes    with ``{operation=read|write|flush, part=protocol|file}``: ``smbd_operations`` (requests, counter),
         ``smbd_seconds`` (s, counter: summed over requests), ``smbd_bytes`` (B, counter). ``protocol`` is the SMB2
         request as a whole at the server, ``file`` the system call in it; their difference is Samba's own.
Costs    29000 µs per sample, in a process that is started for it; two readings a measurement.
Needs    ``smbd profiling level = on`` and smbstatus; the right to read the server's lock directory.
Blind to percentiles: sums and counts only; which client; the time a request lay in the server's socket.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from strata.host import process, programs
from strata.model.counters import smbd
from strata.probes.port import Column, Probe, ProbeScope

OF_NODE = True
AT_EDGES = True

TIMEOUT_S = 10.0
_LINE = re.compile(r"^(\w+):\s+(\d+)\s*$", re.MULTILINE)
_US = 1e-6
# (operation, part) -> (the counter's first words, where its bytes stand)
_FAMILIES = {
    ("read", smbd.PROTOCOL): ("smb2_read", "outbytes"),
    ("write", smbd.PROTOCOL): ("smb2_write", "inbytes"),
    ("flush", smbd.PROTOCOL): ("smb2_flush", None),
    ("read", smbd.FILE): ("syscall_asys_pread", "bytes"),
    ("write", smbd.FILE): ("syscall_asys_pwrite", "bytes"),
    ("flush", smbd.FILE): ("syscall_asys_fsync", None),
}
# (the counter there, column, factor)
_READ = tuple(
    (f"{word}_{what}", Column(counter, {"operation": operation, "part": part}), factor)
    for (operation, part), (word, size) in _FAMILIES.items()
    for what, counter, factor in (("count", smbd.OPERATIONS, 1), ("time", smbd.SECONDS, _US), (size, smbd.BYTES, 1))
    if what is not None
)


def parse(text: str) -> dict[str, int]:
    """Every ``name: number`` of the listing; the sections' headings are passed over."""
    return {name: int(value) for name, value in _LINE.findall(text)}


def values(found: dict[str, int]) -> list[float | None]:
    """In the order of the columns; None for what is not listed."""
    return [found[name] * factor if name in found else None for name, _, factor in _READ]


class SmbdProbe(Probe):
    def __init__(self, conf: str, program: str) -> None:
        super().__init__()
        self._argv = [program, "-s", conf, "-P"]
        text = self._listing()
        self._first: dict[str, int] | None = (found := parse(text))
        if not any(v is not None for v in values(found)):
            # What it printed last is its reason.
            said = text.strip().splitlines()[-1:] or ["no output"]
            self.absent = (f"{program}: {said[0]} (check that smbd profiling level = on is set)",)
            return
        self.columns = tuple(column for _, column, _ in _READ)

    def read(self) -> Sequence[float | None]:
        if not self.columns or self.closed:
            return [None] * len(self.columns)
        # What was listed to find the columns is the first reading: a listing costs as much as all other probes.
        found, self._first = self._first, None
        return values(parse(self._listing()) if found is None else found)

    def _listing(self) -> str:
        try:
            done = process.run(self._argv, TIMEOUT_S)
        except OSError as e:
            return str(e)
        return done.out or done.err


def open_probe(scope: ProbeScope) -> Probe:
    """Of the server configured by ``scope.smb_conf``; nothing without one."""
    if scope.smb_conf is None:
        return Probe()
    program = programs.find("smbstatus")
    if program is None:
        nothing = Probe()
        nothing.absent = ("smbstatus is not installed",)
        return nothing
    return SmbdProbe(str(Path(scope.smb_conf).absolute()), program)
