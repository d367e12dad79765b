"""The command line as a user has it: a process, its exit code, stdout and stderr."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import forked
import pytest

ROOT = Path(__file__).resolve().parents[2]

Strata = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def strata() -> Strata:
    """Runs `strata WORDS…` in a process of its own and gives back what it said."""

    def run(*words: object, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        if forked.able():
            return forked.run(tuple(map(str, words)), timeout)
        argv = [sys.executable, "-m", "strata", *map(str, words)]
        return subprocess.run(argv, capture_output=True, text=True, timeout=timeout, check=False)

    return run


@pytest.fixture
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory on a real disk: the temporary directory may be memory."""
    base = ROOT / ".pytest-disk"
    base.mkdir(exist_ok=True)
    path = base / str(time.monotonic_ns())
    path.mkdir()
    yield path
    for left in path.iterdir():
        left.unlink()
    path.rmdir()
