"""Asking the kernel over netlink: a request, its answers, the attributes in them. Only what the probes need.

Not pyroute2, which the lab uses, because this is read while something is measured. One socket costs it 167 µs of a
CPU (here 10), the disciplines of a namespace 240 to 370 (20), loading it 180 ms: 64 connections once a second
would take 1.1 % of a core, where all probes together may take 1 %. It opens a socket of its own for every thread that
asks, in the namespace of that thread; where Linux is older than 5.4 it finds nothing in `tcp_info`; a socket that is
gone is no error to it. `benches/probes/libraries.py` measures both; tests compare every field with the library's.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator

from strata.host.netns import within

ROUTE, SOCK_DIAG = 0, 4
REQUEST, DUMP = 1, 0x300
_ERROR, _DONE = 2, 3
_HEAD = struct.Struct("=IHHII")
_ATTR = struct.Struct("=HH")
_BUFFER = 1 << 17
_TIMEOUT_S = 2.0


class Netlink:
    """One socket, made inside ``netns`` and speaking of it ever after. Raises `OSError` where it is refused."""

    def __init__(self, family: int, netns: str | None = None) -> None:
        self._socket = within(
            netns, lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, family)
        )
        try:
            self._socket.settimeout(_TIMEOUT_S)
            self._socket.bind((0, 0))
        except OSError:
            self._socket.close()
            raise
        self._sequence = 0

    def ask(self, kind: int, body: bytes, *, dump: bool) -> list[bytes]:
        """The bodies of all answers. Raises `OSError` with the kernel's number (ENOENT: no such socket)."""
        self._sequence += 1
        flags = REQUEST | (DUMP if dump else 0)
        self._socket.send(_HEAD.pack(_HEAD.size + len(body), kind, flags, self._sequence, 0) + body)
        found: list[bytes] = []
        while True:
            data = self._socket.recv(_BUFFER)
            at = 0
            while at + _HEAD.size <= len(data):
                size, of, _, sequence, _ = _HEAD.unpack_from(data, at)
                if size < _HEAD.size:
                    raise OSError("netlink returned a message without a length")
                inside = data[at + _HEAD.size : at + size]
                at += (size + 3) & ~3
                if sequence != self._sequence:
                    # What is left of an answer that came too late.
                    continue
                if of == _DONE:
                    return found
                if of == _ERROR:
                    (number,) = struct.unpack_from("=i", inside)
                    if number:
                        raise OSError(-number, os.strerror(-number))
                    return found
                found.append(inside)
                if not dump:
                    return found

    def close(self) -> None:
        """Gives the socket back."""
        self._socket.close()


def attributes(data: bytes, at: int = 0) -> Iterator[tuple[int, bytes]]:
    """(kind, content) of each attribute from ``at`` on; the flags of the kind are taken off."""
    while at + _ATTR.size <= len(data):
        size, kind = _ATTR.unpack_from(data, at)
        if size < _ATTR.size or at + size > len(data):
            return
        yield kind & 0x3FFF, data[at + _ATTR.size : at + size]
        at += (size + 3) & ~3
