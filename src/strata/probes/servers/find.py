"""Which processes serve a node: the inodes of listening sockets are asked of the kernel, then who holds them."""

from __future__ import annotations

from strata.probes.netlink import SOCK_DIAG, Netlink
from strata.probes.port import ProbeScope
from strata.probes.processes import Processes
from strata.probes.tcp.diag import LISTEN, sockets

NODE = "strata node"
"""The kernel's name of a scheduler and of a node of Strata's: they listen, and serve no path."""


def listeners(scope: ProbeScope) -> tuple[int, ...]:
    """The processes that serve ``scope`` in its namespace; who may not be looked into is missing.

    They listen on one of ``scope.ports``. In a namespace that stands for a node of its own it is whoever listens
    there: what a server of the path asks in its turn is the path's too.
    """
    if not scope.sys.live or not (scope.ports or scope.netns):
        return ()
    processes = scope.processes or Processes(scope.sys)
    key = scope.netns, scope.ports
    if key not in processes.listening:
        processes.listening[key] = _listeners(scope, processes)
    return processes.listening[key]


def _listeners(scope: ProbeScope, processes: Processes) -> tuple[int, ...]:
    try:
        netlink = Netlink(SOCK_DIAG, scope.netns)
    except OSError:
        return ()
    try:
        wanted = [s.inode for s in sockets(netlink, LISTEN) if scope.netns or s.local_port in scope.ports]
    finally:
        netlink.close()
    found = {pid for inode in wanted for pid in processes.holding(inode)}
    return tuple(sorted(pid for pid in found if not processes.know(pid) or processes.name(pid) != NODE))
