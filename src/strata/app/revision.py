"""Which revision of the sources runs, where that can be known."""

from __future__ import annotations

import subprocess
from pathlib import Path


def source_revision() -> str:
    """`git describe --always --dirty` of the checkout this file is in; "installed" outside one."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return "installed"
    words = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()
