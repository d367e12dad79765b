"""The command line as a user has it: a process, its exit code, stdout and stderr."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import commands
import pytest

ROOT = Path(__file__).resolve().parents[2]

Strata = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def strata() -> Strata:
    """Runs `strata WORDS…` in a process of its own and gives back what it said."""

    return partial(commands.strata, timeout=240)


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
