"""Processes of a lab: they outlive the command that started them and are owned by pid and start time.

A child writes itself into the ledger before it becomes the program: killed at any instant, `up` leaves no process that
the ledger does not name. Nothing is ever stopped by name.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from strata.errors import RunFailed
from strata.host import process, programs
from strata_lab.ledger import Ledger, encoded

TOKEN = "STRATA_LAB_TOKEN"
_POLL_S = 0.02


@dataclass
class LabProcess:
    """A process of a lab; ``started`` is the kernel's start time in clock ticks since boot."""

    pid: int
    started: int
    name: str
    log: Path | None = None
    _popen: process.Process[bytes] | None = field(default=None, repr=False, compare=False)

    @property
    def alive(self) -> bool:
        """Whether this very process runs; a zombie has ended."""
        if self._popen is not None:
            self._popen.poll()
        return start_time(self.pid) == self.started

    def stop(self, grace_s: float = 3.0) -> None:
        """SIGTERM, after ``grace_s`` SIGKILL, to it and its session; gone when this returns."""
        stop(self.pid, self.started, grace_s)
        if self._popen is not None:
            self._popen.wait()

    def last_words(self) -> str:
        """The end of its log."""
        if self.log is None or not self.log.exists():
            return ""
        return self.log.read_bytes()[-2000:].decode("utf-8", "replace").strip()


def start(
    ledger: Ledger,
    token: str,
    argv: Sequence[str],
    *,
    name: str,
    log: Path,
    netns: str | None = None,
    env: Mapping[str, str] | None = None,
    cgroups: Iterable[Path] = (),
) -> LabProcess:
    """Starts ``argv`` in its own session, in the namespace ``netns`` (a path), output to ``log``.

    ``cgroups`` are the ``cgroup.procs`` files it joins first. Raises `RunFailed` when it cannot be started.
    """
    groups = [str(g) for g in cgroups]
    ledger_fd = ledger.open_fd()

    def write_down() -> None:
        pid = os.getpid()
        stat = os.open("/proc/self/stat", os.O_RDONLY)
        ticks = _started(os.read(stat, 1000).decode("utf-8", "replace"))
        os.close(stat)
        line = {"undo": "process", "pid": pid, "started": ticks, "name": name, "log": str(log)}
        os.write(ledger_fd, encoded(line))
        for group in groups:
            fd = os.open(group, os.O_WRONLY)
            os.write(fd, str(pid).encode())
            os.close(fd)

    try:
        with log.open("ab") as words_to:
            started = process.begin(
                programs.in_netns(netns, argv),
                {TOKEN: token, **(env or {})},
                stdout=words_to,
                stderr=process.STDOUT,
                start_new_session=True,
                # It takes no lock of this process: three system calls and one short line.
                preexec_fn=write_down,
            )
    except (OSError, process.NotStarted) as e:
        raise RunFailed("cannot start", f"{name} ({argv[0]})", str(e)) from e
    finally:
        os.close(ledger_fd)
    return LabProcess(started.pid, start_time(started.pid, also_zombie=True) or 0, name, log, started)


def wait_until(child: LabProcess, ready: Callable[[], bool], timeout_s: float) -> None:
    """Returns once ``ready()``; raises `RunFailed` with the child's last words when it ends first or takes too long."""
    deadline = time.monotonic() + timeout_s
    while not ready():
        late = time.monotonic() > deadline
        if late or not child.alive:
            why = f"was not ready after {timeout_s:g} s" if late else "exited before it was ready"
            words = tuple(child.last_words().splitlines()[-8:])
            raise RunFailed(f"{child.name} of the lab", f"(pid {child.pid})", why, f"its log: {child.log}", words)
        time.sleep(_POLL_S)


def start_time(pid: int, also_zombie: bool = False) -> int | None:
    """When that process started, in ticks since boot; None when there is none (or only a zombie)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    if not also_zombie and stat.rpartition(")")[2].split()[0] in "ZX":
        return None
    return _started(stat)


def _started(stat: str) -> int:
    # The command's name may hold blanks and parentheses: fields are counted from the last one.
    return int(stat.rpartition(")")[2].split()[19])


def stop(pid: int, started: int, grace_s: float = 3.0) -> None:
    """Ends that very process and what is left of its session. Does nothing when it has ended."""
    members = [(pid, started), *_session(pid)] if start_time(pid) == started else []
    end(members, grace_s)


def end(members: Iterable[tuple[int, int]], grace_s: float = 3.0) -> None:
    """SIGTERM to each (pid, start time), SIGKILL to those left after ``grace_s``; returns when all have ended."""
    fds = {}
    for pid, started in dict.fromkeys(members):
        with contextlib.suppress(ProcessLookupError):
            fd = os.pidfd_open(pid)
            # Looked at after the descriptor is held: the number cannot go to another process in between.
            if start_time(pid) == started:
                fds[fd] = pid
            else:
                os.close(fd)
    try:
        for number, seconds in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 10.0)):
            for fd in fds:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(fd, number)
            _wait_for_all(fds, seconds)
    finally:
        for fd, pid in fds.items():
            os.close(fd)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _wait_for_all(fds: Iterable[int], seconds: float) -> None:
    left, deadline = set(fds), time.monotonic() + seconds
    while left and (rest := deadline - time.monotonic()) > 0:
        left -= process.readable(left, rest)


def _session(leader: int) -> list[tuple[int, int]]:
    return [(pid, started) for pid, started, session in _all() if session == leader]


def _all() -> list[tuple[int, int, int]]:
    """(pid, start time, session) of everything that runs."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if fields[0] not in "ZX":
                    found.append((int(entry.name), int(fields[19]), int(fields[3])))
    return found


def family(leader: int) -> tuple[int, ...]:
    """The process and everything in its session: a server that forks for each connection has all of them there."""
    return (leader, *(pid for pid, _ in _session(leader) if pid != leader))


def inside(netns_inode: int) -> list[tuple[int, int]]:
    """(pid, start time) of everything in that network namespace."""
    want, found = f"net:[{netns_inode}]", []
    for pid, started, _ in _all():
        with contextlib.suppress(OSError):
            if str(Path(f"/proc/{pid}/ns/net").readlink()) == want:
                found.append((pid, started))
    return found


def marked(token: str) -> list[tuple[int, int]]:
    """(pid, start time) of everything that was started with this lab's token in its environment, and its children."""
    want, found = f"{TOKEN}={token}".encode(), []
    for pid, started, _ in _all():
        with contextlib.suppress(OSError):
            if pid != os.getpid() and want in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.append((pid, started))
    return found
