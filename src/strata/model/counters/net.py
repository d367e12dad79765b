"""Network interfaces: what passed each, in each direction."""

from __future__ import annotations

from strata.model.counters.counter import Family, Scope

LOOPBACK = "lo"
RECEIVED, SENT = "rx", "tx"
_CARD = Family("net_", Scope.INTERFACE, parts={"direction": (RECEIVED, SENT)})

BYTES = _CARD.grows("bytes", "B", "bytes through the interface")
PACKETS = _CARD.grows("packets", "packets", "packets through the interface")
DROPS = _CARD.grows("drops", "packets", "packets dropped by the interface")
ERRORS = _CARD.grows("errors", "packets", "packets with errors")
