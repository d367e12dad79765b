"""What a call finds on its node: its name, its folder, whether anybody still waits for it, and a way to tell of itself.

A call that measures asks `NodeState.scheduler_alive` and `NodeState.cancelled` while it runs and ends itself where the
answer says so: nobody can end it from outside. This module loads no library of the cluster.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strata import units
from strata.errors import RunFailed, StrataError
from strata.fleet.call import carried_out, refused

ALIVE_S = 8.0
"""A scheduler whose last answer is older than this is gone: with two heartbeats and a look the load of a call has ended
within 10 s. Where heartbeats are rare, because nodes are many, it is two of them and 2 s."""
MESSAGE_MOST = 16 * units.KIB
"""Bytes of one message, as JSON."""
MESSAGES_PER_S, MESSAGES_AT_ONCE = 20.0, 40.0
"""What one node may tell: so many in the long run, so many in a burst."""
PLANS_KEPT = 10_000
TOPIC = "strata"
"""The topic under which all messages of nodes go."""


class Duties:
    """One node in this process: what its worker, its plugin and its calls share."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self._send: Callable[[str, dict[str, Any]], None] = lambda _topic, _message: None
        self._answered_ns, self._alive_s = time.monotonic_ns(), ALIVE_S
        self._leaving = False
        self._running: dict[str, threading.Event] = {}
        self._lock = threading.Lock()
        self._tokens, self._told_at = MESSAGES_AT_ONCE, time.monotonic()

    def speak(self, send: Callable[[str, dict[str, Any]], None]) -> None:
        """Messages go out by ``send(topic, message)``, in whichever thread."""
        self._send = send

    def answered(self, interval_s: float = 1.0) -> None:
        """The scheduler answered a heartbeat, of which there is one every ``interval_s``."""
        self._answered_ns, self._alive_s = time.monotonic_ns(), max(ALIVE_S, 2 * interval_s + 2)

    def leave(self) -> None:
        """The node ends: every call is cancelled, and the scheduler counts as gone."""
        self._leaving = True
        for cancelled in list(self._running.values()):
            cancelled.set()

    def alive(self) -> bool:
        """See `NodeState.scheduler_alive`."""
        return not self._leaving and time.monotonic_ns() - self._answered_ns < self._alive_s * units.NS_PER_S

    def cancel(self, key: str) -> None:
        """Nobody wants the call of that key any more."""
        if (cancelled := self._running.get(key)) is not None:
            cancelled.set()

    @property
    def busy(self) -> bool:
        """Whether a call is being carried out."""
        return bool(self._running)

    @contextmanager
    def call(self, plan: str, key: str) -> Iterator[None]:
        """`here` gives its state in this thread until the block ends."""
        cancelled = threading.Event()
        if self._leaving:
            cancelled.set()
        with self._lock:
            self._running[key] = cancelled
        _HERE.state = NodeState(self.name, self.folder, plan, self, cancelled)
        try:
            yield
        finally:
            _HERE.state = None
            with self._lock:
                del self._running[key]

    def begin(self, plan: str) -> None:
        """Writes down that this node carries out the plan. Raises `RunFailed` where it is written down already."""
        folder = self.folder / "plans"
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            os.close(os.open(folder / plan, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            why = "the node has carried it out already"
            raise RunFailed("cannot carry out plan", plan, why, "start the run again, which makes a new plan") from None
        except OSError as e:
            why, hint = f"cannot write to {folder}: {e.strerror}", "free some space there, then start the run again"
            raise RunFailed("cannot carry out plan", plan, why, hint) from e
        kept = sorted(folder.iterdir(), key=lambda p: p.stat().st_mtime_ns)
        for old in kept[:-PLANS_KEPT]:
            old.unlink(missing_ok=True)

    def tell(self, plan: str, message: Mapping[str, Any]) -> bool:
        """See `NodeState.tell`."""
        try:
            size = len(json.dumps(message, allow_nan=False))
        except (TypeError, ValueError) as e:
            raise TypeError(f"a message is made of JSON's values: {e}") from e
        if size > MESSAGE_MOST:
            raise ValueError(f"a message may have {MESSAGE_MOST} bytes, this one has {size}")
        with self._lock:
            now = time.monotonic()
            self._tokens = min(MESSAGES_AT_ONCE, self._tokens + (now - self._told_at) * MESSAGES_PER_S)
            self._told_at = now
            if self._tokens < 1 or self._leaving:
                return False
            self._tokens -= 1
        self._send(TOPIC, {"plan": plan, "node": self.name, "message": dict(message)})
        return True


@dataclass(frozen=True)
class NodeState:
    """What a call knows of its node. Threads that the call starts are given it; in them `here` knows nothing.

    ``folder``: the node's own, which outlives it; results go there before they are sent. ``plan``: what `at_once`
    of the cluster named all calls of one graph.
    """

    name: str
    folder: Path
    plan: str
    _duties: Duties = field(repr=False)
    _cancelled: threading.Event = field(repr=False)

    def scheduler_alive(self) -> bool:
        """Whether the scheduler answered a heartbeat within the last 8 s (two heartbeats and 2 s, where they are rarer)
        and the node is not being ended."""
        return self._duties.alive()

    def cancelled(self) -> bool:
        """Whether whoever asked has gone, has given up, or the node is being ended: nobody takes the result."""
        return self._cancelled.is_set()

    def tell(self, message: Mapping[str, Any]) -> bool:
        """Sends a small message, JSON's values alone, to whoever asked; false where it was left out.

        A node may tell `MESSAGES_PER_S`; what is more is left out, so that a thousand nodes do not flood the scheduler.
        """
        return self._duties.tell(self.plan, message)


class _Here(threading.local):
    state: NodeState | None = None


_HERE = _Here()


def here() -> NodeState:
    """The node that carries out this call. Raises `RunFailed` in a thread that carries out none."""
    if _HERE.state is None:
        raise RunFailed("cannot tell the node", "", "nothing is being carried out for a cluster in this thread")
    return _HERE.state


def tell(message: Mapping[str, Any]) -> bool:
    """`NodeState.tell` of the node that carries out this call."""
    return here().tell(message)


def key_of(plan: str, node: str) -> str:
    """What Dask calls the task of that node. As an argument of the task Dask would take it for a dependency."""
    return f"strata-{plan}-{node}"


def carry_out(plan: str, given: bytes, once: bool) -> bytes:
    """The one task that a scheduler hands to a worker: a packed call (`strata.fleet.call`)."""
    from distributed import get_worker

    duties: Duties = get_worker().duties  # type: ignore[attr-defined]
    with duties.call(plan, key_of(plan, duties.name)):
        try:
            if once:
                duties.begin(plan)
        except StrataError as e:
            return refused(e)
        return carried_out(given)
