"""Removal of what a crashed run left behind."""

from __future__ import annotations

from strata.engine import remote_file
from strata.host import testfile


def clean_files() -> tuple[str, ...]:
    """The files that were removed, here and on servers: registered by Strata, and still carrying the mark they were
    given."""
    return (*map(str, testfile.clean()), *remote_file.clean())
