"""Doing something in another network namespace: on a thread of its own that enters it and ends.

pyroute2 can do this itself by forking, but an exception in its child runs on in a copy of this process, where it would
reach our own clean-up. A thread has no such twin.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pyroute2 import IPRoute

from strata.errors import RunFailed, StrataError
from strata.host.netns import CLONE_NEWNET

T = TypeVar("T")
_MS_BIND = 4096


def create(path: Path) -> None:
    """A new network namespace that ``path`` names. Raises `RunFailed`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o400, exist_ok=False)

    def name_it() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        _checked(libc.unshare(CLONE_NEWNET), "make the namespace", path)
        own = f"/proc/self/task/{threading.get_native_id()}/ns/net"
        _checked(libc.mount(own.encode(), os.fsencode(path), None, _MS_BIND, None), "name the namespace", path)

    on_a_thread(name_it)


def within(path: str | Path, do: Callable[[IPRoute], T]) -> T:
    """``do`` with a netlink socket of that namespace. Raises `RunFailed` with what the kernel said."""

    def talk() -> T:
        with IPRoute() as route:
            return do(route)

    return on_a_thread_in(path, talk)


def on_a_thread_in(path: str | Path | None, do: Callable[[], T]) -> T:
    """``do`` on a thread that is in that namespace (None: where we are). Raises `RunFailed`."""

    def enter() -> T:
        if path is not None:
            # A stack file may name anything: a pipe is not waited for.
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                _checked(ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWNET), "enter the namespace", Path(path))
            finally:
                os.close(fd)
        return do()

    return on_a_thread(enter)


def on_a_thread(do: Callable[[], T]) -> T:
    """``do`` on a thread of its own, which may leave what this process is in. Raises `RunFailed`."""
    result: list[T] = []
    error: list[BaseException] = []

    def body() -> None:
        try:
            result.append(do())
        except BaseException as e:  # it is raised again where the caller can see it
            error.append(e)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if error and isinstance(error[0], StrataError):
        raise error[0]
    if error:
        raise RunFailed("cannot set up the network of the lab", "", str(error[0])) from error[0]
    return result[0]


def _checked(result: int, doing: str, path: Path) -> Any:
    if result:
        raise RunFailed(f"cannot {doing}", str(path), os.strerror(ctypes.get_errno()))
