"""Which addresses may be used: with TLS all, without it only those that nobody outside can reach.

Whoever can speak to a scheduler or a node can run any code on it. So a plain connection is for the loopback, and for a
network namespace of its own without a way out, such as a lab's; everything else is refused, on both sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from strata.errors import SafetyRefusal, UsageError
from strata.host.proc import read_text
from strata.model.endpoint import is_loopback
from strata.probes.links import Link, links

PORT = 8786
_INWARD = frozenset({"veth", "bridge", "dummy", "ifb"})
"""Kinds of interfaces that lead to another namespace of this machine, or nowhere."""
_ADDRESS = re.compile(r"(tls|tcp)://(\[[0-9A-Fa-f:.%\w]+\]|[A-Za-z0-9._-]{1,253})(?::(\d{1,5}))?/?\Z")


@dataclass(frozen=True)
class Door:
    """An address of a scheduler or a node."""

    scheme: str
    host: str
    port: int

    @property
    def address(self) -> str:
        """As Dask writes it."""
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def plain(self) -> bool:
        """Without TLS."""
        return self.scheme == "tcp"


def parsed(text: str) -> Door:
    """``tls://host:port`` or ``tcp://host:port``; the port is 8786 where none is said. Raises `UsageError`."""
    found = _ADDRESS.match(text)
    if found is None or int(found[3] or PORT) > 65535:
        why = "it is not of the form tls://HOST:PORT or tcp://HOST:PORT"
        raise UsageError("cannot use the address", text[:300], why, f"for example tls://scheduler:{PORT}")
    return Door(found[1], found[2], int(found[3] or PORT))


def admitted(door: Door, what: str) -> Door:
    """The same, if it may be used from where this thread is. Raises `SafetyRefusal`."""
    if not door.plain or is_loopback(door.host) or isolated():
        return door
    why = "without TLS, any machine that reaches it can run any code as the user of the node"
    hint = f"make certificates with: strata node trust NAME …, and use tls://{door.host}:{door.port}"
    raise SafetyRefusal(what, door.address, why, hint)


def isolated() -> bool:
    """Whether the network namespace of this thread has only interfaces that lead to others of this machine, and no
    default route. A machine's own has its cards, so it is none, whether or not there is a route."""
    return _inward(_links()) and not _ways_out(Path("/proc/thread-self/net"))


def _inward(known: Iterable[Link] | None) -> bool:
    return known is not None and all(link.loopback or link.kind in _INWARD for link in known)


def _links() -> tuple[Link, ...] | None:
    """None where the kernel does not say."""
    try:
        return links()
    except OSError:
        return None


def _ways_out(net: Path) -> bool:
    """Whether there is a default route, or that cannot be told. The kernel's own ``unreachable`` one leads nowhere."""
    four = read_text(net / "route")
    if four is None:
        return True
    rows = [line.split() for line in four.splitlines()[1:]]
    if any(row[1] == "00000000" and row[7] == "00000000" for row in rows):
        return True
    six = read_text(net / "ipv6_route") or ""
    return any(row[0] == "0" * 32 and row[1] == "00" and row[9] != "lo" for row in map(str.split, six.splitlines()))
