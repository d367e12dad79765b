"""What was measured, kept: runs, cells and outcomes in SQLite."""

from __future__ import annotations

from strata.store.location import default_path
from strata.store.opening import open_store
from strata.store.store import Store

__all__ = ["Store", "default_path", "open_store"]
