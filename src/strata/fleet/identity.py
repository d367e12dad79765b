"""Who we are to the other side: the certificate, its key, and the authority whose certificates we accept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from strata.fleet.doors import Door

CLIENT, SCHEDULER = "client", "scheduler"


def security(door: Door, trust: Path | None, role: str) -> Any:
    """What Dask takes for connections to and from that door; None for a plain one."""
    if door.plain:
        return None
    raise NotImplementedError(role, trust)
