"""Network interfaces: what passed each, in each direction."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Scope
from strata.model.series import SeriesKind

LOOPBACK = "lo"
RECEIVED, SENT = "rx", "tx"


def _grows(name: str, unit: str, words: str) -> Counter:
    return Counter(
        f"net_{name}", unit, SeriesKind.COUNTER, Scope.INTERFACE, words, parts={"direction": (RECEIVED, SENT)}
    )


BYTES = _grows("bytes", "B", "bytes through the interface")
PACKETS = _grows("packets", "packets", "packets through the interface")
DROPS = _grows("drops", "packets", "packets dropped by the interface")
ERRORS = _grows("errors", "packets", "packets with errors")
