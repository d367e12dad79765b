"""The clients of a measurement on the node that carries it out: each is heard, ends with the others, and is kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from strata.engine.clients import measure_client, pages
from strata.errors import StrataError
from strata.fleet import results
from strata.fleet.node import here
from strata.model import histogram
from strata.model.workload import Cache

WHOLE = ("runtime", "bytes", "ios")
"""Why a run ended that is kept: all others were cut short."""
TOLD_AT_ONCE = 16
"""Intervals in one message, which may have 16 KiB."""
ROWS_MOST = 16
"""Intervals of a node that wait for the slowest of its clients: of one that is further behind the node has no p99."""


class _Stopped:
    """Runs that are to end, in a node's process."""

    runs: set[str] = set()
    lock = threading.Lock()


class Telling:
    """Intervals of all clients of a node, as one message every ``every_s``, or once `TOLD_AT_ONCE` wait.

    The last of the ``clients`` to be through with an interval brings the p99 of the node: that of the sum of all their
    histograms. It is worked out here, by the threads that look at the loads.
    """

    def __init__(self, send: Callable[[dict[str, Any]], bool], every_s: float, clients: Collection[int]) -> None:
        self._send, self._every_s = send, every_s
        self._waiting: list[dict[str, Any]] = []
        self._lock, self._told_s = threading.Lock(), time.monotonic()
        self._through = dict.fromkeys(clients, 0)
        self._rows: dict[int, list[str | None]] = {}
        self._dropped = 0
        """Rows below this one are let go of."""

    def add(self, client: int, told: dict[str, Any]) -> None:
        """One more, without its histograms, which are in the result: messages are small."""
        sides = [side for name in ("read", "write", "sync") if (side := told.get(name)) is not None]
        times = histogram.merge(side["service_time"] for side in sides[:2])
        for side in sides:
            side["service_time"] = None
        one = {"client": client, "interval": told, "p99_ns": _p99(times)}
        if (row := self._row(client, times)) is not None:
            one["node_p99_ns"] = one["p99_ns"] if len(row) == 1 else _p99(histogram.merge(row))
        with self._lock:
            self._waiting.append(one)
        self.look()

    def end(self, client: int) -> None:
        """Nothing more comes of it: the others do not wait for it."""
        with self._lock:
            self._through.pop(client, None)

    def _row(self, client: int, times: str | None) -> list[str | None] | None:
        """The histograms of all clients of the interval that this one ends, where it is the last to do so."""
        with self._lock:
            number = self._through[client]
            self._through[client] += 1
            if number < self._dropped:
                return None
            self._rows.setdefault(number, []).append(times)
            if any(through <= number for through in self._through.values()):
                if len(self._rows) > ROWS_MOST:
                    self._dropped = min(self._rows) + 1
                    del self._rows[self._dropped - 1]
                return None
            return self._rows.pop(number, None)

    def look(self, *, last: bool = False) -> None:
        """Sends what is due."""
        with self._lock:
            due = last or time.monotonic() - self._told_s >= self._every_s
            while self._waiting and (due or len(self._waiting) >= TOLD_AT_ONCE):
                self._send({"intervals": self._waiting[:TOLD_AT_ONCE]})
                del self._waiting[:TOLD_AT_ONCE]
                self._told_s = time.monotonic()


def _p99(times: str | None) -> int | None:
    return histogram.quantiles(times, [0.99])[0] if times else None


def ready_here(kept_as: str | None, stored: Sequence[str]) -> dict[str, Any] | None:
    """Loads what a client needs; gives the result of that name where the node has one. Those ``stored`` it forgets."""
    state = here()
    results.forget(state.folder, stored)
    return None if kept_as is None else results.kept(state.folder, kept_as)


def prepare_here(words: Sequence[Mapping[str, Any]], cache: str) -> None:
    """The page cache of this node, of what its clients drive, is ``cache`` (cold, warm) from then on."""
    pages.make_ready(words, Cache(cache))


def end_here(run: str) -> None:
    """The clients of that run on this node end with what they have."""
    with _Stopped.lock:
        _Stopped.runs.add(run)


def measure_here(told: Mapping[str, Any]) -> dict[str, Any]:
    """The clients of this node as long as its scheduler is there and somebody waits for the result.

    ``told``: ``run``; ``clients``, the words of each; ``kept_as``, the name of the measurement, or none; and
    ``tell_every_s``. The answer has ``clients``, each with its ``result`` or ``why`` there is none; with a name it is
    on the node's disk before it is given, and ``unkept`` says why it is not. ``pages``: those in memory before and
    after, and why they are not known.
    """
    state, run = here(), str(told["run"])
    several = told["clients"]
    telling = Telling(state.tell, float(told["tell_every_s"]), [int(words["client"]) for words in several])

    def ended() -> bool:
        return run in _Stopped.runs or state.cancelled() or not state.scheduler_alive()

    def alive() -> bool:
        telling.look()
        return not ended()

    def one(words: Mapping[str, Any]) -> dict[str, Any]:
        number = int(words["client"])
        of = {key: words[key] for key in ("client", "node", "offset_ns", "bound_ns")}
        try:
            return {**of, "result": measure_client(words, lambda now: telling.add(number, now), alive, ended)}
        except StrataError as e:
            return {**of, "why": "; ".join(filter(None, (e.headline, e.hint)))}
        finally:
            telling.end(number)

    if told["kept_as"] is not None:
        # Of clients that had measured when others were lost: it is measured anew, by all of them.
        results.forget(state.folder, [str(told["kept_as"])])
    try:
        before, unknown = pages.seen(several)
        with ThreadPoolExecutor(len(several), "strata-client") as pool:
            done = list(pool.map(one, several))
        telling.look(last=True)
    finally:
        with _Stopped.lock:
            _Stopped.runs.discard(run)
    after, why = pages.seen(several)
    answer: dict[str, Any] = {"clients": done, "pages": (before, after, unknown or why)}
    if told["kept_as"] is not None and all("result" in c and c["result"]["stop_reason"] in WHOLE for c in done):
        answer["unkept"] = results.keep(state.folder, str(told["kept_as"]), {"run": run, "clients": done})
    return answer
