"""Who serves a process of this machine: whoever holds the other ends of its connections, and what belongs to it.

Reads    /proc/PID/fd of the clients; the socket diagnostics (unix and TCP) of the network namespaces of this process,
         of the clients and of who may serve them; where a new end is seen, /proc/*/fd for who holds it; of these
         /proc/PID/exe, parents, children and control group.
Costs    0.6 ms for each look, and 10 ms for one at who holds new ends (157 processes); each at most `Paced`'s share of
         the time.
Needs    root for the processes of other users, and for other network namespaces.
Blind to connections that begin and end between two looks or pass a translation of addresses, requests over pipes and
         shared memory. A server that others use, too, is told as a whole.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from strata.errors import UsageError
from strata.host.proc import Sys
from strata.probes.netlink import SOCK_DIAG, Netlink, attributes
from strata.probes.processes import Paced, Processes, group_members_file, sockets_of
from strata.probes.tcp.diag import ESTABLISHED, sockets

_BY_FAMILY = 20
_UNIX = struct.Struct("=BBxxIIIII")
_UNIX_ANSWER = struct.Struct("=BBBxI")
_UNIX_HEAD = 16
_SHOW_PEER, _PEER = 4, 2
_STATES = (1 << ESTABLISHED) | (1 << 7)  # a datagram socket that is connected was "closed" before Linux 4.20
_NAMESPACES = 8
_FIRST = 1
"""The process that everything descends from: it holds sockets for others."""


class Serving:
    """``found``: all that were seen to serve since the beginning."""

    def __init__(self, sys: Sys | None = None) -> None:
        self._sys = sys or Sys()
        self._processes = Processes(self._sys)
        self._looks, self._walks = Paced(), Paced()
        self._asked: dict[str, Netlink | None] = {}
        self._holders: dict[int, tuple[int, ...]] = {}
        own = os.getpid()
        # Whoever started us may hold the other end of anything.
        self._line = {_FIRST, own, *self._processes.above(own)}
        self.found: set[int] = set()

    def look(self, clients: Collection[int], candidates: Collection[int] = ()) -> None:
        """At the connections that ``clients`` have now, if it is due. ``candidates``: who may serve them, wherever that
        is.
        """
        if not self._looks.due:
            return
        with self._looks.timed():
            mine = {inode for pid in clients for name in sockets_of(pid, streams=False) for inode in _inodes(name)}
            ends = _other_ends(self._namespaces((*clients, *candidates)), mine) if mine else set()
        self._holders = {end: pids for end, pids in self._holders.items() if end in ends}
        new = ends - self._holders.keys()
        if new and self._walks.due:
            with self._walks.timed():
                self._processes.begin()
                self._holders |= {end: self._processes.holding(end) for end in new}
                held = {pid for pids in self._holders.values() for pid in pids}
                self.found |= self._whole(held - set(clients) - self._line) - set(clients)

    def close(self) -> None:
        """Gives the sockets back."""
        for one in self._asked.values():
            if one is not None:
                one.close()
        self._asked.clear()

    def _namespaces(self, pids: Iterable[int]) -> list[Netlink]:
        """The diagnostics of each; where they are refused nobody is known to serve."""
        for pid in ("self", *pids):
            home = f"/proc/{pid}/ns/net"
            with contextlib.suppress(OSError):
                name = os.readlink(home)  # noqa: PTH115
                if name not in self._asked and len(self._asked) < _NAMESPACES:
                    self._asked[name] = None
                    with contextlib.suppress(UsageError):
                        self._asked[name] = Netlink(SOCK_DIAG, None if pid == "self" else home)
        return [one for one in self._asked.values() if one is not None]

    def _whole(self, holders: set[int]) -> set[int]:
        """With those that started them from the same program, all below these, and who shares a service's group."""
        roots = set()
        for pid in holders:
            if self._processes.know(pid):
                roots |= {self._top(pid), *self._group(pid)}
        return set(self._processes.descendants(roots)) - self._line

    def _top(self, pid: int) -> int:
        """The first of its own program: a server that has a process for each of its clients."""
        program = self._program(pid)
        while (above := self._processes.parent(pid)) not in self._line and program is not None:
            if above is None or self._program(above) != program:
                break
            pid = above
        return pid

    def _program(self, pid: int) -> str | None:
        try:
            return os.readlink(self._sys.at(f"/proc/{pid}/exe"))  # noqa: PTH115
        except OSError:
            return None

    def _group(self, pid: int) -> Iterator[int]:
        path = group_members_file(self._sys, pid)
        if path is not None:
            with contextlib.suppress(OSError):
                yield from (int(word) for word in Path(path).read_text().split() if word.isdigit())


def _inodes(name: str) -> Iterator[int]:
    number = name.removeprefix("socket:[").removesuffix("]")
    if number.isdigit():
        yield int(number)


def _other_ends(namespaces: Collection[Netlink], mine: Collection[int]) -> set[int]:
    """The sockets that those are connected to."""
    pairs = [pair for one in namespaces for pair in _unix(one)]
    # Of two in different namespaces either tells the other one.
    found = {b for a, b in pairs if a in mine} | {a for a, b in pairs if b in mine}
    connected = [s for one in namespaces for s in sockets(one, ESTABLISHED)]
    ends = {(s.peer, s.peer_port, s.local, s.local_port) for s in connected if s.inode in mine}
    found |= {s.inode for s in connected if (s.local, s.local_port, s.peer, s.peer_port) in ends}
    return found - {0} - set(mine)


def _unix(netlink: Netlink) -> Iterator[tuple[int, int]]:
    """(a socket, the one that it is connected to)"""
    body = _UNIX.pack(socket.AF_UNIX, 0, _STATES, 0, _SHOW_PEER, 0, 0)
    with contextlib.suppress(OSError):  # no unix_diag
        answers = netlink.ask(_BY_FAMILY, body, dump=True)
        yield from (pair for answer in answers for pair in _pairs(answer))


def _pairs(answer: bytes) -> Iterator[tuple[int, int]]:
    if len(answer) >= _UNIX_HEAD:
        inode = _UNIX_ANSWER.unpack_from(answer)[3]
        for kind, content in attributes(answer, _UNIX_HEAD):
            if kind == _PEER and len(content) == 4:
                yield inode, struct.unpack("=I", content)[0]
