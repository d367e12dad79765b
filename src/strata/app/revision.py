"""Which revision of the sources runs, where that can be known."""

from __future__ import annotations

from pathlib import Path

from strata.host import process


def source_revision() -> str:
    """`git describe --always --dirty` of the checkout this file is in; "installed" outside one."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return "installed"
    words = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        done = process.run(words, timeout_s=10.0)
    except OSError:
        return "unknown"
    return "unknown" if done.code else done.out.strip()
