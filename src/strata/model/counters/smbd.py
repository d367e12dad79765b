"""A Samba server's own times."""

from __future__ import annotations

from strata.model.counters.counter import Family, Scope

PROTOCOL, FILE = "protocol", "file"
"""The request as a whole at the server, and the system call in it: the label ``part``."""
_LABELS = {"parts": {"operation": ("read", "write", "flush")}, "aspects": {"part": (PROTOCOL, FILE)}}
_SAMBA = Family("smbd_", Scope.SERVICE, **_LABELS)

OPERATIONS = _SAMBA.grows("operations", "requests", "requests that Samba served")
SECONDS = _SAMBA.grows("seconds", "s", "time of all requests at Samba")
BYTES = _SAMBA.grows("bytes", "B", "bytes that Samba read and wrote")
