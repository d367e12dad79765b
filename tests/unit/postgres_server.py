"""A PostgreSQL server of the tests' own, in a folder of its own, reached over a socket in it and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

FAST = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")
"""For tests and benches only: the data is thrown away."""


def program(name: str) -> str:
    versions = [str(p) for p in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    found = shutil.which(name, path=os.pathsep.join([*versions, os.environ.get("PATH", "")]))
    assert found is not None, f"{name} is not installed: apt-get install postgresql"
    return found


@contextmanager
def server() -> Iterator[Server]:
    """Started, and stopped again however the block ends."""
    with tempfile.TemporaryDirectory(prefix="strata-pg-", ignore_cleanup_errors=True) as folder:
        made = Server(Path(folder))
        made.start()
        try:
            yield made
        finally:
            made.stop()


class Server:
    """The server refuses to run as root, so there it gets the rights of nobody (or of the user ``postgres``)."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data = folder, folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        self._as: list[str] = []
        if os.geteuid() == 0:
            folder.chmod(0o755)
            self.data.mkdir()
            os.chown(self.data, 65534, 65534)
            os.chown(folder, 65534, 65534)
            self._as = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    def start(self) -> None:
        """Makes the cluster and waits until it answers."""
        made = [program("initdb"), "-D", str(self.data), "-U", "strata", "--auth=trust", "-E", "UTF8", "--locale=C"]
        subprocess.run([*self._as, *made, "--no-sync"], check=True, capture_output=True, cwd=self.folder)
        words = [program("postgres"), "-D", str(self.data), "-k", str(self.folder), "-c", "listen_addresses="]
        for setting in FAST:
            words += ["-c", setting]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen([*self._as, *words], stderr=log, stdout=log, cwd=self.folder)
        for _ in range(600):
            ready = [program("pg_isready"), "-h", str(self.folder), "-q", "-t", "1"]
            if subprocess.run(ready, check=False).returncode == 0:
                return
            if self._process.poll() is not None:
                break
            self._process.poll()
            subprocess.run(["sleep", "0.05"], check=False)
        raise AssertionError((self.folder / "log").read_text(errors="replace"))

    def url(self) -> str:
        """A new, empty database."""
        self._databases += 1
        name = f"d{self._databases}"
        subprocess.run([program("createdb"), "-h", str(self.folder), "-U", "strata", name], check=True)
        return f"postgresql://strata@/{name}?host={quote(str(self.folder))}"

    def stop(self) -> None:
        """At once: nothing of it is kept. May be called twice."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(3)  # SIGQUIT: without the checkpoint
            self._process.wait(timeout=60)
