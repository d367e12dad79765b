"""The wall clock of this machine, where its time is kept."""

from __future__ import annotations

import time

from strata import units
from strata.errors import RunFailed


def now_unix_ns() -> int:
    """Now, in ns since the epoch. Raises `RunFailed` for a time that no store can keep (before 1970, after 2262)."""
    now = time.time_ns()
    if not 0 <= now < units.MOST:
        year = 1970 + now // (units.NS_PER_S * 31_556_952)
        why = f"the clock of this machine is set to the year {year}; dates from 1970 to 2262 are supported"
        raise RunFailed("cannot date the run", "", why, "set the clock: date --set, or chronyc makestep")
    return now
