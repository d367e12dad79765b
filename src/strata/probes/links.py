"""The network interfaces of a namespace as the kernel describes them: RTM_GETLINK (linux/if_link.h)."""

from __future__ import annotations

import struct
from contextlib import closing
from dataclasses import dataclass

from strata.probes.netlink import ROUTE, Netlink, attributes

_GETLINK, _IFINFOMSG = 18, struct.Struct("=BxHiII")
_LOOPBACK, _LOWER_UP = 0x8, 0x10000
"""IFF_RUNNING is told up to a second late."""
_NAME, _MASTER, _LINKINFO, _KIND = 3, 10, 18, 1


@dataclass(frozen=True)
class Link:
    """One interface. ``kind``: ``veth``, ``bond`` …, empty for a card; ``carrier``: it is up, and so is what it is
    connected to; ``part``: of another interface, such as a bond or a bridge."""

    name: str
    kind: str
    loopback: bool
    carrier: bool
    part: bool


def links(netns: str | None = None) -> tuple[Link, ...]:
    """Those of the network namespace (a path; None: of this thread). Raises `OSError` where the kernel does not say."""
    with closing(Netlink(ROUTE, netns)) as asked:
        answers = asked.ask(_GETLINK, bytes(_IFINFOMSG.size), dump=True)
    return tuple(map(parse, answers))


def parse(answer: bytes) -> Link:
    """One body of the kernel's answers. Raises `OSError` for one without an interface: none may be passed over, for
    whoever asks may decide by them who is let in."""
    if len(answer) < _IFINFOMSG.size:
        raise OSError("netlink returned an interface without its description")
    flags = _IFINFOMSG.unpack_from(answer)[3]
    told = dict(attributes(answer, _IFINFOMSG.size))
    kind = dict(attributes(told.get(_LINKINFO, b""))).get(_KIND, b"")
    return Link(
        name=told.get(_NAME, b"").rstrip(b"\0").decode(errors="backslashreplace"),
        kind=kind.rstrip(b"\0").decode("ascii", "replace"),
        loopback=bool(flags & _LOOPBACK),
        carrier=bool(flags & _LOWER_UP),
        part=_MASTER in told,
    )
