"""An smbd of the test's own: private directories, a free port of the loopback, its whole group stopped and reaped."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loops import need, need_root

PASSWORD = "open sesame"
CONFIG = """
[global]
 server role = standalone server
 private dir = {at}/private
 lock directory = {at}/lock
 state directory = {at}/state
 cache directory = {at}/cache
 pid directory = {at}/pid
 ncalrpc dir = {at}/ncalrpc
 log file = {at}/log
 interfaces = 127.0.0.1
 bind interfaces only = yes
 smb ports = {port}
 disable netbios = yes
 disable spoolss = yes
 load printers = no
 server multi channel support = yes
 strict sync = yes
{more}[share]
 path = {at}/share
 read only = no
[readonly]
 path = {at}/share
 read only = yes
"""


@dataclass
class Smbd:
    """A running server; ``share`` is the directory behind its shares ``share`` and ``readonly``."""

    server: subprocess.Popen[bytes]
    port: int
    share: Path

    def uri(self, name: str, options: str = "", *, password: bool = True, share: str = "share") -> str:
        """The address of a file."""
        who = f"root:{PASSWORD.replace(' ', '%20')}" if password else "root"
        return f"smb://{who}@127.0.0.1:{self.port}/{share}/{name}{'?' * bool(options)}{options}"

    def kill(self) -> None:
        """As if its machine had lost power."""
        os.killpg(self.server.pid, signal.SIGKILL)
        self.server.wait(timeout=30)


@contextmanager
def smbd(at: Path, more: str = "") -> Iterator[Smbd]:
    """A server that keeps everything below ``at``; ``more``: lines of its configuration.

    Skips without root or Samba; with STRATA_REQUIRE=all that fails.
    """
    need_root()
    need("smbd")
    for name in ("share", "private", "lock", "state", "cache", "pid", "ncalrpc"):
        (at / name).mkdir(parents=True)
    # Held until the server begins: whoever asks for a free port meanwhile gets another one.
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        config = at / "smb.conf"
        config.write_text(CONFIG.format(at=at, port=port, more=more))
        words = [need("smbpasswd"), "-c", str(config), "-s", "-a", "root"]
        subprocess.run(words, input=f"{PASSWORD}\n{PASSWORD}\n".encode(), capture_output=True, check=True)
    words = [need("smbd"), "-F", "--no-process-group", "-s", str(config)]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet, process_group=0)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < deadline
                time.sleep(0.02)
        yield Smbd(server, port, at / "share")
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait(timeout=30)
        shutil.rmtree(at, ignore_errors=True)
