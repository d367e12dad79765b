"""Removal of what a crashed run left behind: each gives what it removed, and why other things were left."""

from __future__ import annotations

from strata.engine.remote_file import clean as clean_remote
from strata.host.instances import clean as clean_tracing
from strata.host.testfile import clean as clean_files

__all__ = ["clean_files", "clean_remote", "clean_tracing"]
