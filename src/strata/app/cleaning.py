"""Removal of what a crashed run left behind."""

from __future__ import annotations

from strata.engine import remote_file
from strata.host import instances, testfile


def clean_files() -> tuple[str, ...]:
    """The files that were removed, here and on servers: registered by Strata, and still carrying the mark they were
    given."""
    return (*map(str, testfile.clean()), *remote_file.clean())


def clean_tracing() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(removed, still there): tracing instances of the kernel whose makers are gone."""
    return instances.clean()
