"""The command line as a process, a disk that is no memory, and a target of our own, for the contract tests."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import forked

STRATA = [sys.executable, "-m", "strata"]
Process = subprocess.Popen[str] | forked.Started
ROOT = Path(__file__).resolve().parents[2]
QUICK = ("--ramp-time", "50ms", "--progress", "none")


def strata(
    *words: object, before: Callable[[], None] | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Runs `strata WORDS…` to its end; ``before`` runs in the child.

    A disk may stand still for the 50 ms that a test measures: then it runs again. One that never answers does so each
    time.
    """
    for _ in range(3):
        done = _once(words, before, timeout)
        if words[:1] != ("measure",) or "no I/O completed" not in done.stderr:
            break
    return done


def _once(
    words: Sequence[object], before: Callable[[], None] | None, timeout: float
) -> subprocess.CompletedProcess[str]:
    if before is None and forked.able():
        return forked.run(tuple(map(str, words)), timeout=timeout)
    argv = [*STRATA, *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=timeout, check=False, preexec_fn=before)


def started(*words: object, env: Mapping[str, str] = os.environ) -> Process:
    """`strata WORDS…` that goes on; what it says on stderr can be read."""
    if forked.able():
        return forked.Started(words, env)
    argv, nothing = [*STRATA, *map(str, words)], subprocess.DEVNULL
    return subprocess.Popen(argv, stderr=subprocess.PIPE, stdin=nothing, stdout=nothing, text=True, env=env)


def measured(
    *words: object, before: Callable[[], None] | None = None, status: int | tuple[int, ...] = 0
) -> dict[str, Any]:
    """The JSON of `strata measure WORDS… --json`, which must end with ``status`` or one of them."""
    expected = (status,) if isinstance(status, int) else status
    done = strata("measure", *QUICK, *words, "--json", before=before)
    assert done.returncode in expected, done.stderr
    assert done.stdout, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


_EACH = """
import json, sys
from strata.cli.main import _run
for words in json.load(open(sys.argv[1])):
    sys.argv = ["strata", *words]
    code = _run()
    for stream in (sys.stdout, sys.stderr):
        print("\\n-- that was", code, file=stream, flush=True)
"""


def one_after_another(
    commands: Sequence[Sequence[str]], folder: Path, cwd: Path | None = None, **env: str
) -> list[tuple[int, str, str]]:
    """Status, stdout and stderr of each command, all in one process: what loads each time is most of the time."""
    (folder / "commands.json").write_text(json.dumps(commands))
    argv = [sys.executable, "-c", _EACH, str((folder / "commands.json").absolute())]
    done = subprocess.run(argv, capture_output=True, timeout=300, check=False, env=os.environ | env, cwd=cwd)
    ends = re.compile(r"\n-- that was (\d+)\n")
    out, err = (ends.split(stream.decode()) for stream in (done.stdout, done.stderr))
    assert done.returncode == 0, done.stderr.decode()
    assert len(out) == len(err) == 2 * len(commands) + 1
    return [(int(out[i + 1]), out[i], err[i]) for i in range(0, 2 * len(commands), 2)]


@contextmanager
def working_disk() -> Iterator[Path]:
    """A directory on the disk of this checkout: the temporary directory may be memory."""
    path = ROOT / ".pytest-disk" / uuid.uuid4().hex
    path.mkdir(parents=True)
    try:
        yield path
    finally:
        for left in path.iterdir():
            left.unlink()
        path.rmdir()


@contextmanager
def target(*words: object) -> Iterator[tuple[str, Process]]:
    """`strata target WORDS…`: its address as it says it, and the process."""
    server = started("target", *words)
    try:
        assert server.stderr is not None
        said = []
        while not (line := server.stderr.readline()).startswith("serving "):
            said.append(line)
            assert line, f"the server ended: {said}"
        yield line.split()[1], server
    finally:
        server.terminate()
        server.communicate(timeout=30)
