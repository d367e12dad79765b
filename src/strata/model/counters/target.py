"""A target of our own: what its side of each request took."""

from __future__ import annotations

from strata.model.counters.counter import Family, Scope

DIRECTIONS = ("read", "write", "sync")
_TARGET = Family("target_", Scope.SERVICE, parts={"direction": DIRECTIONS})

REQUESTS = _TARGET.grows("requests", "requests", "requests that the target served")
BYTES = _TARGET.grows("bytes", "B", "bytes that the target read and wrote")
SECONDS = _TARGET.grows("seconds", "s", "time of all requests at the target")
