"""Real images, loop devices and mounts for the tests: each is taken down by its own id, also when the test fails."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from absent import absent

MIB = 1 << 20
ENV = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}


def need_root() -> None:
    """Skips for an ordinary user, fails with STRATA_REQUIRE=all."""
    if os.geteuid() != 0:
        absent("needs root (loop devices, mounts, swap)")


def need(program: str) -> str:
    """The program's path; skips where it is not installed, fails with STRATA_REQUIRE=all."""
    found = shutil.which(program, path=ENV["PATH"])
    if found is None:
        absent(f"{program} is not installed")
    return found


def run(*argv: str) -> str:
    """Runs it to the end; its output, or the test's failure."""
    done = subprocess.run(argv, env=ENV, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{argv}: {done.stdout} {done.stderr}"
    return done.stdout.strip()


def image(path: Path, size: int = 16 * MIB) -> Path:
    """An empty image."""
    with path.open("wb") as f:
        f.truncate(size)
    return path


def checksum(path: Path | str) -> str:
    """Of every byte."""
    with Path(path).open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


@contextmanager
def loop(backing: Path, *options: str) -> Iterator[str]:
    """A loop device over the file or device."""
    device = run(need("losetup"), "--find", "--show", *options, str(backing))
    if (udevadm := shutil.which("udevadm", path=ENV["PATH"])) is not None:
        # It reads every new device once; a test counts what it reads itself.
        subprocess.run([udevadm, "settle", "--timeout=30"], env=ENV, check=False, capture_output=True)
    # The kernel keeps what an earlier device of this number read; a test must not see it.
    assert re.fullmatch(r"/dev/loop\d+", device)
    try:
        yield device
    finally:
        run(need("losetup"), "--detach", device)


@contextmanager
def mounted(device: str, at: Path, *options: str, kind: str = "ext4") -> Iterator[Path]:
    """The device mounted at a fresh directory."""
    at.mkdir()
    run("mount", "-t", kind, *options, device, str(at))
    try:
        yield at
    finally:
        unmount(at)


def patiently(*argv: str) -> None:
    """Runs it until nobody keeps it busy any more."""
    deadline = time.monotonic() + 30
    while (done := subprocess.run(argv, env=ENV, check=False, capture_output=True, text=True)).returncode:
        assert "busy" in done.stderr and time.monotonic() < deadline, done.stderr
        time.sleep(0.05)


def unmount(at: Path) -> None:
    """Undo a mount. A ring of io_uring is taken apart after its process has ended; until then it holds files."""
    patiently("umount", str(at))


@contextmanager
def swapped_on(area: Path | str) -> Iterator[None]:
    """The area as swap."""
    run(need("swapon"), str(area))
    try:
        yield
    finally:
        run(need("swapoff"), str(area))
