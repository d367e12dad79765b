"""The bench of the gate runs: every line of both tables is there. What it finds is `make bench-gate`'s matter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.ci
@pytest.mark.timeout(120)
def test_every_line_is_there() -> None:
    words = [sys.executable, str(ROOT / "benches" / "gate" / "run.py"), "--times", "2"]
    done = subprocess.run(words, env={"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("| ") and "%" in line]
    assert len(lines) == 12 + 3
    assert "Otava was not asked" in done.stdout
