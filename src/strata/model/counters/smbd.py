"""A Samba server's own times."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Scope
from strata.model.series import SeriesKind

PROTOCOL, FILE = "protocol", "file"
"""The request as a whole at the server, and the system call in it: the label ``part``."""


def _grows(name: str, unit: str, words: str) -> Counter:
    return Counter(
        f"smbd_{name}",
        unit,
        SeriesKind.COUNTER,
        Scope.SERVICE,
        words,
        parts={"operation": ("read", "write", "flush")},
        aspects={"part": (PROTOCOL, FILE)},
    )


OPERATIONS = _grows("operations", "requests", "requests that Samba served")
SECONDS = _grows("seconds", "s", "time of all requests at Samba")
BYTES = _grows("bytes", "B", "bytes that Samba read and wrote")
