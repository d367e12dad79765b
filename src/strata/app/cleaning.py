"""Removal of what a crashed run left behind."""

from __future__ import annotations

from pathlib import Path

from strata.host import instances, testfile


def clean_files() -> tuple[Path, ...]:
    """The files that were removed: registered by Strata, and still carrying the mark they were given."""
    return tuple(testfile.clean())


def clean_tracing() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(removed, still there): tracing instances of the kernel whose makers are gone."""
    return instances.clean()
