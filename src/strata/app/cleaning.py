"""Removal of what a crashed run left behind."""

from __future__ import annotations

from strata.engine import remote_file
from strata.host import instances, testfile


def clean_files() -> tuple[str, ...]:
    """The files of this machine that were removed: registered by Strata, still carrying the mark they were given."""
    return tuple(map(str, testfile.clean()))


def clean_remote() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(removed, why others were left): the same of files on servers."""
    return remote_file.clean()


def clean_tracing() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(removed, still there): tracing instances of the kernel whose makers are gone."""
    return instances.clean()
