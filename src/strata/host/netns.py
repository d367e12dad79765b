"""Doing something inside a network namespace: sockets and files of /proc opened there go on speaking of it."""

from __future__ import annotations

import ctypes
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from strata.errors import UsageError
from strata.host.proc import descriptor

T = TypeVar("T")

CLONE_NEWNET = 0x40000000
_HERE = threading.local()


def within(netns: str | None, call: Callable[[], T]) -> T:
    """``call()`` in a thread of its own that has entered ``netns`` (a path, as ``/run/netns/n1``); None: right here.

    A descriptor opened there stays a window into that namespace for every thread. What is asked for inside ``call`` of
    the same namespace is done right there. Raises what ``call`` raises, and `UsageError` where the namespace cannot be
    entered (gone, or no CAP_SYS_ADMIN).
    """
    if netns is None or getattr(_HERE, "netns", None) == netns:
        return call()
    # Here, not above: most commands enter no namespace, and it is dear to load.
    from concurrent.futures import ThreadPoolExecutor

    def inside() -> T:
        enter(netns)
        _HERE.netns = netns
        return call()

    # The namespace belongs to a thread, not to the process: this one ends, and nobody else has moved.
    with ThreadPoolExecutor(1, "strata-netns") as thread:
        return thread.submit(inside).result()


def closed(netns: str | None) -> bool:
    """Whether the namespace cannot be entered from here; None is this process's own, which it is in."""
    try:
        within(netns, lambda: None)
    except UsageError:
        return True
    return False


def may_be(netns: str) -> bool:
    """Whether something at that path can stand for a namespace: a file of the kernel's, or one that is not there yet.

    A pipe or a device in its place would have whoever opens it wait.
    """
    try:
        return stat.S_ISREG(Path(netns).stat().st_mode)
    except (OSError, ValueError):
        return True


def enter(netns: str) -> None:
    """Takes this thread, and those that it starts from now on, into the namespace. Raises `UsageError`."""
    try:
        # A stack file may name anything: a pipe is not waited for.
        with descriptor(netns, os.O_RDONLY | os.O_NONBLOCK) as fd:
            if ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWNET) != 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))
    except OSError as e:
        raise UsageError(
            "cannot enter the network namespace", netns, e.strerror or str(e), "check that it exists, and run as root"
        ) from e
