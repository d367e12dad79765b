"""The runs that are measured now, followed once for all who watch, and told as server-sent events.

What is told is the state, not what changed: each event replaces a part of the page. Who comes back after the server was
gone, or after his own machine slept, is told all parts anew, with every point that was measured meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from threading import Lock
from typing import Any

from starlette.concurrency import run_in_threadpool

from strata.app import kept
from strata.app.live import LiveFeed, feed_of
from strata.errors import StrataError
from strata.model.live import LiveRun
from strata.model.run import RunStatus
from strata.report.html import live

EVERY_S = 0.5
ALIVE_S = 10.0
"""So often something is said where nothing changes: a connection that is gone is noticed."""
AFTER_S = 15.0
"""So long after its last word a run may take to be in the store."""
FEEDS_MOST = 64
State = tuple[int, Callable[[], dict[str, str]]]
"""Of what a page shows: its number, which another state does not have, and what makes the parts of the page."""


class Feeds:
    """By run id; each is read from where it was left."""

    def __init__(self, store: str | None) -> None:
        self._store = store
        self._feeds: dict[str, LiveFeed] = {}
        self._parts: dict[str, tuple[int, dict[str, str]]] = {}
        self._lock = Lock()

    def look(self, run_id: str) -> LiveRun | None:
        """The run now; None where nobody measures it."""
        with self._lock:
            feed = self._feeds.get(run_id) or feed_of(run_id)
            if feed is None:
                return None
            self._feeds[run_id] = feed
            _bounded(self._feeds)
        found = feed.look()
        if found is None:
            with self._lock:
                self._feeds.pop(run_id, None)
                self._parts.pop(run_id, None)
        return found

    def parts(self, run: LiveRun) -> dict[str, str]:
        """The parts of its page, made once for each state."""
        run_id = run.head.run
        with self._lock:
            kept_parts = self._parts.get(run_id)
        if kept_parts is None or kept_parts[0] != run.last:
            kept_parts = run.last, live.parts(run)
            with self._lock:
                self._parts[run_id] = kept_parts
                # Who closed the page before the run was over never asks for its end.
                _bounded(self._parts)
        return kept_parts[1]

    async def follow(self, run_id: str) -> AsyncIterator[str]:
        """Events until the run is over."""
        async for said in changes(lambda: self._state(run_id), EVERY_S):
            yield said
        until = time.monotonic() + AFTER_S
        while time.monotonic() < until and not await run_in_threadpool(self._there, run_id):
            await asyncio.sleep(EVERY_S)
        yield event("over", run_id)

    def _state(self, run_id: str) -> State | None:
        run = self.look(run_id)
        return None if run is None else (run.last, lambda: self.parts(run))

    def _there(self, run_id: str) -> bool:
        """Whether the store has the run, as one that is not measured any more."""
        try:
            (head,) = kept.named_runs([run_id], self._store)
        except StrataError:
            return False
        return head.status is not RunStatus.RUNNING


def _bounded(kept: dict[str, Any]) -> None:
    while len(kept) > FEEDS_MOST:
        kept.pop(next(iter(kept)))


async def changes(look: Callable[[], State | None], every_s: float) -> AsyncIterator[str]:
    """The parts of a page as events, each as often as it changes, until there is nothing to look at any more."""
    yield "retry: 500\n\n"
    sent: dict[str, str] = {}
    last, said = -1, time.monotonic()
    while (found := await run_in_threadpool(look)) is not None:
        number, parts = found
        now = time.monotonic()
        if number != last:
            last, said = number, now
            for name, html in (await run_in_threadpool(parts)).items():
                if sent.get(name) != html:
                    sent[name] = html
                    yield event("part", {"name": name, "html": html})
        elif now - said > ALIVE_S:
            said = now
            yield ": nothing new\n\n"
        await asyncio.sleep(every_s)


def event(kind: str, what: object) -> str:
    """One event as it is sent."""
    # JSON has no line ends of its own: one line of data is the whole of it.
    return f"event: {kind}\ndata: {json.dumps(what)}\n\n"
