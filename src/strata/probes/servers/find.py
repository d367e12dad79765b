"""Which process listens on a port: its socket's inode is asked of the kernel, its owner found among the descriptors."""

from __future__ import annotations

import os
from collections.abc import Iterator

from strata.probes.netlink import SOCK_DIAG, Netlink
from strata.probes.port import Scope
from strata.probes.tcp.diag import LISTEN, sockets


def listeners(scope: Scope) -> tuple[int, ...]:
    """The processes that listen on ``scope.ports`` in ``scope.netns``; who may not be looked into is missing."""
    if not scope.sys.live:
        return ()
    try:
        netlink = Netlink(SOCK_DIAG, scope.netns)
    except OSError:
        return ()
    try:
        wanted = {f"socket:[{s.inode}]" for s in sockets(netlink, LISTEN) if s.local_port in scope.ports}
    finally:
        netlink.close()
    return tuple(sorted(_owners(wanted))) if wanted else ()


def _owners(wanted: set[str]) -> Iterator[int]:
    for name in os.listdir("/proc"):  # noqa: PTH208 - names, thousands of them
        if not name.isdigit():
            continue
        try:
            fds = os.listdir(f"/proc/{name}/fd")  # noqa: PTH208
        except OSError:
            continue
        for fd in fds:
            try:
                if os.readlink(f"/proc/{name}/fd/{fd}") in wanted:  # noqa: PTH115
                    yield int(name)
                    break
            except OSError:
                continue
