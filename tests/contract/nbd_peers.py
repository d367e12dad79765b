"""Servers as child processes: ours and other people's, owned by pid and always reaped."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from absent import absent

from strata import _core

SERVE = "import sys\nfrom strata import _core\n_core.target_serve(sys.argv[1])\n"


def need(*tools: str) -> None:
    """Skip the test when a peer is not installed; with STRATA_REQUIRE=all it fails."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        absent(f"not installed: {', '.join(missing)}")


def run(*command: str | Path, timeout_s: float = 60) -> str:
    """Run a peer to its end and give its output; it must succeed."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=timeout_s, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def _end(process: subprocess.Popen[bytes]) -> int:
    process.terminate()
    try:
        return process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


@contextmanager
def ours(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Our server in a process of its own; gives what it said when it was ready. It must end cleanly."""
    read_fd, write_fd = os.pipe()
    with os.fdopen(read_fd) as ready:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, json.dumps({**config, "ready_fd": write_fd})],
            pass_fds=[write_fd],
        )
        os.close(write_fd)
        try:
            line = ready.readline()
            assert line, "the server ended before it was ready"
            yield json.loads(line)
        finally:
            status = _end(process)
    assert status == 0


def listening(socket: Path) -> bool:
    """Whether somebody accepts connections there: the file is made a moment before."""
    lines = (line.split() for line in Path("/proc/net/unix").read_text().splitlines())
    return any(fields[3] == "00010000" and fields[-1] == str(socket) for fields in lines)


@contextmanager
def theirs(command: list[str | Path], socket: Path) -> Iterator[str]:
    """Somebody else's server that listens on `socket`; gives its address."""
    process = subprocess.Popen([str(part) for part in command], stderr=subprocess.PIPE)
    try:
        until = time.monotonic() + 20
        while not listening(socket):
            if process.poll() is not None or time.monotonic() > until:
                pytest.fail(f"{command[0]} did not start")
            time.sleep(0.01)
        yield f"nbd+unix:///?socket={socket}"
    finally:
        process.kill()  # nbdkit would wait for clients that are still there
        process.communicate()


def load(uri: str, rw: str, ios: int, **extra: Any) -> dict[str, Any]:
    """Load `uri` with `ios` I/Os; the result."""
    size = json.loads(_core.remote_probe(uri, 1))["size_bytes"]
    connections, sync = extra.pop("connections", 1), extra.pop("sync", "none")
    job = {
        "schema": 1,
        "target": {"kind": "nbd", "uri": uri, "connections": connections, "sync": sync},
        "workload": {
            "rw": rw,
            "bs": 4096,
            "iodepth": 8,
            "segments": [{"start": 0, "length": size, "target": 0}],
            **extra,
        },
        "runtime_ns": 30_000_000_000,
        "stop_after": {"ios": ios, "bytes": None},
    }
    text = _core.start(json.dumps(job)).wait(60)
    assert text is not None, "no result within 60 s"
    result: dict[str, Any] = json.loads(text)
    return result
