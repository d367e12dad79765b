"""A trace on the node of a layer: what can be followed there, and one window within the node's own bounds."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from strata.app.driven.words import TraceableThere, TracedThere
from strata.app.trace import check_window, targets_of
from strata.errors import RunFailed, StrataError, UsageError
from strata.host.proc import Sys
from strata.model.endpoint import Endpoint
from strata.model.trace import TraceTarget
from strata.probes.trace import Window, check, recording, target

TARGETS_MOST = 64
"""Devices that one window follows."""


def traceable(ends: Mapping[str, str], boot: str) -> TraceableThere:
    """The devices below these endpoints, by layer; nothing is opened."""
    refused, absent = None, []
    try:
        check("its devices")
    except RunFailed as e:
        refused = f"{e.headline}; {e.hint}" if e.hint else e.headline
    targets: dict[str, tuple[TraceTarget, ...]] = {}
    for layer, uri in ends.items():
        try:
            targets[layer] = targets_of(Path(Endpoint.parse(uri).path or uri))
        except StrataError as e:
            absent.append(f"layer {layer}: {e.headline}")
    return TraceableThere(boot, targets, tuple(absent), refused)


class NodeTrace:
    """One window at a time. Whatever asks for it, its length, its events and its devices are those that
    `strata trace` allows on this machine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: ExitStack | None = None
        self._window: Window | None = None

    @property
    def records(self) -> bool:
        """Whether one is open: under way, or not taken yet."""
        return self._window is not None

    def begin(self, targets: Sequence[TraceTarget], seconds: float, max_events: int) -> None:
        """Returns when it records. Raises `UsageError`, and what `recording` raises."""
        check_window(seconds, max_events)
        followed = own_targets(targets)
        with self._lock:
            if self._window is not None:
                raise RunFailed("cannot trace", followed[0].name, "a trace is already running here", "wait for its end")
            opened = ExitStack()
            self._window = opened.enter_context(recording(followed, seconds, max_events))
            self._open = opened

    def take(self) -> TracedThere | None:
        """The window, once it has ended; None until then. Raises `RunFailed` where it was lost, or none was begun."""
        with self._lock:
            window = self._window
            if window is None:
                raise RunFailed("cannot take the trace", "", "none was begun on this node")
            done = window.wait(0.0)
            if done is None:
                return None
            self._ended()
        return TracedThere(*done, window.absent)

    def stop(self) -> None:
        """It ends with what it has."""
        with self._lock:
            if self._window is not None:
                self._window.stop()

    def close(self) -> None:
        """It ends, and nothing of it stays."""
        with self._lock:
            self._ended()

    def _ended(self) -> None:
        opened, self._open, self._window = self._open, None, None
        if opened is not None:
            opened.close()


def own_targets(asked: Sequence[TraceTarget]) -> tuple[TraceTarget, ...]:
    """These devices as this machine knows them: of what was asked only their names and places count."""
    if not 0 < len(asked) <= TARGETS_MOST:
        why = f"a window follows 1 to {TARGETS_MOST} devices"
        raise UsageError("cannot trace", f"{len(asked)} devices", why, "leave layers out of the stack file")
    sys, found = Sys(), list[TraceTarget]()
    for one in asked:
        known = target(one.name, one.role, sys) if "/" not in one.name else None
        if known is None:
            raise RunFailed("cannot trace", one.name[:300], "this machine has no such device")
        found.append(known.model_copy(update={"above": one.above}))
    return tuple(found)
