"""Clusters of a test's own: `strata node serve` and `strata node join` as processes, all reaped."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from commands import STRATA, Process
from commands import started as begun

HERE = Path(__file__).parent
BOUND_S = 15.0
"""From the loss of a node to its being told."""


@dataclass
class Running:
    """A scheduler, its nodes by name, and what each said on stderr."""

    address: str
    folder: Path
    scheduler: Process
    nodes: dict[str, Process] = field(default_factory=dict)

    @property
    def processes(self) -> list[Process]:
        """All of them, nodes first: a node that outlives its scheduler takes longer to end."""
        return [*self.nodes.values(), self.scheduler]

    def state_of(self, name: str) -> Path:
        """The node's own folder."""
        return self.folder / name / "strata" / "nodes" / name


def started(words: Sequence[object], state: Path, before: Sequence[str] = ()) -> Process:
    """`strata node WORDS…` with a state of its own; calls of the tests can be found by it."""
    state.mkdir(mode=0o700, exist_ok=True)
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"PYTHONPATH": path, "XDG_STATE_HOME": str(state)}
    if not before:
        return begun("node", *words, env=env)
    argv = [*before, *STRATA, "node", *map(str, words)]
    # A shell's job in the background ignores Ctrl-C, and what it starts does too.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=env)


def said(process: Process, word: str) -> str:
    """The first line with that word that it says."""
    heard = []
    assert process.stderr is not None
    while line := process.stderr.readline():
        heard.append(line)
        if word in line:
            return line
    raise AssertionError(f"it ended with {process.wait()}: {heard}")


def ended(process: Process, within_s: float = 15) -> tuple[int, str]:
    """Its exit code and the rest of what it says; killed where it does not end in time."""
    try:
        _, err = process.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, err


@contextmanager
def cluster(
    folder: Path,
    names: Sequence[str],
    listen: str = "tcp://127.0.0.1:0",
    *,
    trust: Path | None = None,
    at: str | None = None,
    inside: Sequence[str] = (),
    apart: dict[str, Sequence[str]] | None = None,
) -> Iterator[Running]:
    """A scheduler and nodes of these names, joined. ``inside``: words before the scheduler's, ``apart``: a node's."""
    more = [] if trust is None else ["--trust", trust]
    scheduler = started(["serve", "--listen", listen, *more], folder / "scheduler", inside)
    made = Running("", folder, scheduler)
    try:
        made.address = said(scheduler, "scheduler at ").split()[2]
        for name in names:
            made.nodes[name] = started(
                ["join", at or made.address, "--name", name, *more], folder / name, (apart or {}).get(name, ())
            )
        for node in made.nodes.values():
            said(node, "has joined")
        yield made
    finally:
        for process in made.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        until = time.monotonic() + 15
        for process in made.processes:
            try:
                process.communicate(timeout=max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise


def results_of(running: Running) -> dict[str, int]:
    """How many results each node has on its disk."""
    return {name: len(list((running.state_of(name) / "results").glob("*.json"))) for name in running.nodes}
