"""A bench of many hosts goes on where one of its rows fails, and its exit status says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HOSTS = Path(__file__).parents[2] / "benches" / "fleet" / "hosts.py"


@pytest.mark.ci
def test_a_row_that_fails_is_told_and_the_next_one_is_measured() -> None:
    """A fleet without hosts cannot be measured, with however many clients."""
    words = [sys.executable, HOSTS, "--hosts", "0", "0x2"]
    ran = subprocess.run(words, check=False, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 1
    assert "0 hosts with 1 clients each: failed" in ran.stderr and "0 hosts with 2 clients each: failed" in ran.stderr
    assert ran.stdout.rstrip().endswith("failed: 0 hosts with 1 clients each, 0 hosts with 2 clients each")
