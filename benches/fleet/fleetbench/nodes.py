"""A scheduler and its nodes as processes of this machine, on the loopback; gone when the block ends."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

READY_S = 120.0


def scheduler(ready: str) -> int:
    """Until a signal; its address goes into the file ``ready``."""
    from strata.fleet import doors, serving

    return serving.serve(doors.parsed("tcp://127.0.0.1:0"), None, lambda address: _say(Path(ready), address))


def node(name: str, address: str, folder: str) -> int:
    """Until a signal, or its scheduler is gone."""
    from strata.fleet import doors, serving

    there = Path(folder)
    there.mkdir(parents=True, exist_ok=True)
    joining = serving.Joining(name=name, door=doors.parsed(address), trust=None, folder=there, wait_s=30.0, absent=())
    return serving.join(joining, lambda address: _say(there / "ready", address))


@contextmanager
def scheduler_of(said: Path) -> Iterator[tuple[str, int]]:
    """Its address and its process's number."""
    with ExitStack() as held:
        process = _begun(held, ["scheduler", str(said)])
        yield _told(said), process.pid


@contextmanager
def nodes(count: int, folder: Path) -> Iterator[tuple[str, dict[str, subprocess.Popen[bytes]]]]:
    """The scheduler's address, and the processes of the nodes by name, once all have joined."""
    with ExitStack() as held:
        said = folder / "scheduler"
        _begun(held, ["scheduler", str(said)])
        address = _told(said)
        made = {}
        for number in range(count):
            name = f"node-{number}"
            made[name] = _begun(held, ["node", name, address, str(folder / name)])
        for name in made:
            _told(folder / name / "ready")
        yield address, made


def _begun(held: ExitStack, words: list[str]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-m", "fleetbench.nodes", *words])

    def end() -> None:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    held.callback(end)
    return process


def _say(ready: Path, address: str) -> None:
    ready.write_text(address)


def _told(ready: Path) -> str:
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        if ready.exists() and (text := ready.read_text()):
            return text
        time.sleep(0.02)
    raise TimeoutError(f"{ready.parent.name}: nothing was ready within {READY_S:g} s")


if __name__ == "__main__":
    from strata.errors import StrataError

    role, *rest = sys.argv[1:]
    try:
        sys.exit(scheduler(*rest) if role == "scheduler" else node(*rest))
    except StrataError as e:
        sys.exit(e.headline)
