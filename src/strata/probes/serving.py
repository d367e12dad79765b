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
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from strata.errors import UsageError
from strata.host.proc import Sys
from strata.probes.netlink import SOCK_DIAG, Netlink, attributes
from strata.probes.processes import Paced, Processes, fields_of, group_members_file, sockets_of, start_of
from strata.probes.tcp.diag import ESTABLISHED, is_loopback
from strata.probes.tcp.diag import ends as tcp_ends

_BY_FAMILY = 20
_UNIX = struct.Struct("=BBxxIIIII")
_UNIX_ANSWER = struct.Struct("=BBBxI")
_UNIX_HEAD = 16
_SHOW_PEER, _PEER = 4, 2
_STATES = (1 << ESTABLISHED) | (1 << 7)  # a datagram socket that is connected was "closed" before Linux 4.20
_NAMESPACES = 8
_NEVER = "its connections were not looked at in its time"
_FIRST = 1
"""The process that everything descends from: it holds sockets for others."""


class Serving:
    """``unseen``: why nobody may be known to serve though somebody does; empty where all was looked at."""

    def __init__(self, sys: Sys | None = None) -> None:
        self._sys = sys or Sys()
        self._processes = Processes(self._sys)
        self._looks, self._walks = Paced(), Paced()
        self._asked: dict[str, Netlink | None] = {}
        self._holders: dict[int, tuple[int, ...]] = {}
        own = os.getpid()
        # Whoever started us may hold the other end of anything.
        self._line = {_FIRST, own, *self._processes.above(own)}
        self._found: dict[int, int] = {}
        self.unseen = _NEVER

    @property
    def found(self) -> set[int]:
        """All that were seen to serve since the beginning, but for numbers that others have now."""
        return {pid for pid, start in self._found.items() if start_of(self._sys, pid) in (None, start)}

    def look(self, clients: Collection[int], candidates: Collection[int] = ()) -> None:
        """At the connections that ``clients`` have now, if it is due. ``candidates``: who may serve them, wherever that
        is.
        """
        if not self._looks.due:
            return
        with self._looks.timed():
            mine = {inode for pid in clients for name in sockets_of(pid, streams=False) for inode in _inodes(name)}
            shut = any(self._shut(pid) for pid in clients)
            # What was not seen of connections is not seen later either, when the command has closed them or has ended.
            if mine or shut or (clients and self.unseen == _NEVER):
                self.unseen = "its open files may not be looked at" if shut else ""
            ends = self._other_ends(clients, candidates, mine) if mine else set()
        self._holders = {end: pids for end, pids in self._holders.items() if end in ends}
        new = ends - self._holders.keys()
        if new and self._walks.due:
            with self._walks.timed():
                self._processes.begin()
                self._holders |= {end: self._processes.holding(end) for end in new}
                held = {pid for pids in self._holders.values() for pid in pids}
                for pid in self._whole(held - set(clients) - self._line) - set(clients):
                    self._found[pid] = self._processes.started(pid)
        if any(not self._holders.get(end) for end in ends):
            self.unseen = self.unseen or "who holds the other ends of its connections is not seen"

    def close(self) -> None:
        """Gives the sockets back."""
        for name in tuple(self._asked):
            self._leave(name)

    def _leave(self, name: str) -> None:
        one = self._asked.pop(name)
        if one is not None:
            one.close()

    def _shut(self, pid: int) -> bool:
        """Whether the process runs, and its open files may not be looked at. One that has ended has none."""
        try:
            os.scandir(f"/proc/{pid}/fd").close()
        except PermissionError:
            return fields_of(self._sys.text(f"/proc/{pid}/stat") or "")[:1] not in ([], ["Z"], ["X"])
        except OSError:
            return False
        return False

    def _other_ends(self, clients: Collection[int], candidates: Collection[int], mine: Collection[int]) -> set[int]:
        """The sockets that those are connected to."""
        their_own = {name for pid in clients if (name := _namespace(pid)) is not None}
        asked = self._namespaces((*clients, *candidates))
        if not all(asked.get(name) for name in their_own):
            self.unseen = "the socket diagnostics of its network namespace are refused"
        pairs, tables = list[tuple[int, int]](), list[list[tuple[int, bytes, bytes]]]()
        for name, one in asked.items():
            if one is None:
                continue
            try:
                pairs += _unix(one)
                tables.append(list(tcp_ends(one, ESTABLISHED)))
            except OSError as e:
                if name in their_own:
                    self.unseen = f"the socket diagnostics are refused: {e.strerror or e}"
        # Of two in different namespaces either tells the other one.
        found = {b for a, b in pairs if a in mine} | {a for a, b in pairs if b in mine} | over_tcp(tables, mine)
        return found - {0} - set(mine)

    def _namespaces(self, pids: Iterable[int]) -> dict[str, Netlink | None]:
        """The diagnostics of each, None where they are refused. One that none of them is in is left: an open socket
        keeps it.
        """
        there = dict[str, str | None]()
        everybody: tuple[int | str, ...] = ("self", *pids)
        for pid in everybody:
            if (name := _namespace(pid)) is not None:
                there.setdefault(name, None if pid == "self" else f"/proc/{pid}/ns/net")
        chosen = dict(islice(there.items(), _NAMESPACES))
        for name in self._asked.keys() - chosen.keys():
            self._leave(name)
        for name, home in chosen.items():
            if name not in self._asked:
                self._asked[name] = None
                with contextlib.suppress(UsageError, OSError):
                    self._asked[name] = Netlink(SOCK_DIAG, home)
        return self._asked

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


def over_tcp(tables: Sequence[Iterable[tuple[int, bytes, bytes]]], mine: Collection[int]) -> set[int]:
    """The sockets that those are connected to, of the sockets of several network namespaces (`tcp_ends`).

    Two namespaces may have the same addresses: one that leads to no other is looked up in one's own alone, and any in
    one's own first; where several others have it nobody is told.
    """
    wanted: dict[tuple[bytes, bytes], set[int]] = {}
    for place, table in enumerate(tables):
        for inode, here, there in table:
            if inode in mine:
                wanted.setdefault((there, here), set()).add(place)
    having: dict[tuple[bytes, bytes], dict[int, int]] = {}
    for place, table in enumerate(tables):
        for inode, here, there in table:
            if (here, there) in wanted:
                having.setdefault((here, there), {})[place] = inode
    found = set()
    for ends, places in wanted.items():
        there_are = having.get(ends, {})
        for place in places:
            if place in there_are:
                found.add(there_are[place])
            elif len(there_are) == 1 and not is_loopback(ends[0]):
                found |= set(there_are.values())
    return found


def _namespace(pid: int | str) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/ns/net")  # noqa: PTH115
    except OSError:
        return None


def _unix(netlink: Netlink) -> Iterator[tuple[int, int]]:
    """(a socket, the one that it is connected to). Raises `OSError` where the kernel has no unix_diag."""
    body = _UNIX.pack(socket.AF_UNIX, 0, _STATES, 0, _SHOW_PEER, 0, 0)
    for answer in netlink.ask(_BY_FAMILY, body, dump=True):
        yield from _pairs(answer)


def _pairs(answer: bytes) -> Iterator[tuple[int, int]]:
    if len(answer) >= _UNIX_HEAD:
        inode = _UNIX_ANSWER.unpack_from(answer)[3]
        for kind, content in attributes(answer, _UNIX_HEAD):
            if kind == _PEER and len(content) == 4:
                yield inode, struct.unpack("=I", content)[0]
