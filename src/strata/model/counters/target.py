"""A target of our own: what its side of each request took."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Scope
from strata.model.series import SeriesKind

DIRECTIONS = ("read", "write", "sync")


def _grows(name: str, unit: str, words: str) -> Counter:
    return Counter(f"target_{name}", unit, SeriesKind.COUNTER, Scope.SERVICE, words, parts={"direction": DIRECTIONS})


REQUESTS = _grows("requests", "requests", "requests that the target served")
BYTES = _grows("bytes", "B", "bytes that the target read and wrote")
SECONDS = _grows("seconds", "s", "time of all requests at the target")
