"""A PostgreSQL of the trial's own on the lab's file system, with a database of pgbench's; durable, as it comes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from strata.errors import RunFailed
from watchbench.generators import SOCKET

NOBODY = 65534
SCALE = 3
"""Of pgbench: 45 MB of tables, more than the server keeps for itself."""
SETTINGS = (
    "listen_addresses=",
    "shared_buffers=8MB",
    "max_wal_size=64MB",
    "min_wal_size=4MB",
    f"unix_socket_directories={SOCKET}",
)
STARTS_S = 60.0


@contextmanager
def running(folder: Path) -> Iterator[None]:
    """It refuses to be root: its folder and its rights are nobody's. Stopped and removed however the block ends."""
    data, socket = folder / "pg", Path(SOCKET)
    as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    server: subprocess.Popen[bytes] | None = None
    mine: list[Path] = []
    try:
        for made in (data, socket):
            # Where something is already, it is another trial's, and stays.
            made.mkdir(mode=0o700)
            mine.append(made)
            os.chown(made, NOBODY, NOBODY)
        words = ["initdb", "-D", str(data), "-U", "strata", "--auth=trust", "--locale=C", "--wal-segsize=1"]
        _done([*as_nobody, _program("initdb"), *words[1:], "--no-sync"])
        words = [_program("postgres"), "-D", str(data)]
        for setting in SETTINGS:
            words += ["-c", setting]
        with (socket / "log").open("wb") as log:
            server = subprocess.Popen([*as_nobody, *words], stdout=log, stderr=log, cwd="/")
        _answers(server, socket / "log")
        _done(["pgbench", "-i", "-q", "-s", str(SCALE), "-h", SOCKET, "-U", "strata", "postgres"])
        subprocess.run(["sync", "-f", str(folder)], check=True)
        yield
    finally:
        if server is not None:
            server.send_signal(signal.SIGQUIT)  # at once: nothing of it is kept
            server.wait()
        for made in mine:
            shutil.rmtree(made, ignore_errors=True)


def _program(name: str) -> str:
    """Debian keeps the programs of a server beside those of its other versions."""
    versions = [str(p) for p in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    found = shutil.which(name, path=os.pathsep.join([*versions, os.environ.get("PATH", "")]))
    if found is None:
        raise RunFailed("cannot start", name, "it is not installed: apt-get install postgresql")
    return found


def _done(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd="/")
    if done.returncode:
        raise RunFailed("cannot run", words[0], (done.stderr or done.stdout).strip()[-200:])


def _answers(server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + STARTS_S
    ready = [_program("pg_isready"), "-h", SOCKET, "-q", "-t", "1"]
    while subprocess.run(ready, check=False).returncode:
        if server.poll() is not None or time.monotonic() > deadline:
            raise RunFailed("cannot start", "postgres", log.read_text(errors="replace").strip()[-200:])
        time.sleep(0.1)
