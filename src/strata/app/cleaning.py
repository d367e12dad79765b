"""Removal of what a crashed run left behind."""

from __future__ import annotations

from pathlib import Path

from strata.app.share import clean_shares
from strata.host import testfile

__all__ = ["clean_files", "clean_shares"]


def clean_files() -> tuple[Path, ...]:
    """The files that were removed: registered by Strata, and still carrying the mark they were given."""
    return tuple(testfile.clean())
