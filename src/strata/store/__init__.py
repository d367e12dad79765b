"""What was measured, kept: runs, cells, outcomes and baselines, in SQLite or on a PostgreSQL server."""

from __future__ import annotations

from strata.store.location import default_path
from strata.store.opening import open_store
from strata.store.store import Store

__all__ = ["Store", "default_path", "open_store"]
