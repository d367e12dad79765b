"""The command line as a user has it: a process, its exit code, stdout and stderr."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

Strata = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def strata() -> Strata:
    """Runs `strata WORDS…` in a process of its own and gives back what it said."""

    def run(*words: object, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "strata", *map(str, words)]
        return subprocess.run(argv, capture_output=True, text=True, timeout=timeout, check=False)

    return run
