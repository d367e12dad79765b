"""The samples of some probes, taken together from one thread, and the series they become."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from strata.model.series import Series, SeriesKind
from strata.probes.port import Column, Probe

SELDOM = 5
"""Times its interval after which a recording is read whose probes are all idle."""
_Row = tuple[int, Sequence[float | None]]


@dataclass
class Watched:
    """One open probe, of which node, and what it gave so far (monotonic ns, values)."""

    probe: Probe
    node: str | None = None
    rows: list[_Row] = field(default_factory=list)


class ProbeRecording:
    """Reads its probes in their order. ``interval_s`` None: only when asked, no thread.

    ``thin``: of samples in a row in which a counter did not move, the first and the last are kept.
    """

    def __init__(self, interval_s: float | None, *, thin: bool = False) -> None:
        self.watched: list[Watched] = []
        self._interval_s, self._thin = interval_s, thin
        # Released to end the thread. An event makes a lock for each wait: a third more of a CPU at 50 a second.
        self._going = threading.Lock()
        self._going.acquire()
        self._thread: threading.Thread | None = None
        self._rows = threading.Lock()

    def sample(self) -> None:
        """One row for each probe, placed at the middle of its reading."""
        with self._rows:
            self._sample()

    def taken(self, epoch_ns: int) -> tuple[Series, ...]:
        """As `series`, of the rows since they were taken before; the last ones stay, so that the next ones go on
        there.
        """
        with self._rows:
            found = self.series(epoch_ns)
            for one in self.watched:
                del one.rows[:-1]
                if gone := one.probe.forget():
                    one.rows = [(at, [v for n, v in enumerate(row) if n not in gone]) for at, row in one.rows]
        return found

    def _sample(self) -> None:
        for one in self.watched:
            at = time.monotonic_ns()
            values = one.probe.read()
            one.rows.append(((at + time.monotonic_ns()) // 2, values))

    def run(self) -> None:
        """Goes on in a thread of its own, where there is anything to read again."""
        if self._interval_s is None or not self.watched:
            return
        self._thread = threading.Thread(target=self._go, args=(self._interval_s,), name="strata-probes", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Ends the thread, which may take as long as one sample."""
        if self._going.locked():
            self._going.release()
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """Closes every probe, also when one refuses."""
        with contextlib.ExitStack() as closing:
            for one in self.watched:
                closing.callback(one.probe.close)
        self.watched = []

    def series(self, epoch_ns: int) -> tuple[Series, ...]:
        """Every column with at least one value; ``epoch_ns`` is added to the instants."""
        found = (
            _series(one, place, column, epoch_ns, thin=self._thin)
            for one in self.watched
            for place, column in enumerate(one.probe.columns)
        )
        return tuple(s for s in found if s is not None)

    def _go(self, interval_s: float) -> None:
        begun, n = time.monotonic(), 0
        while True:
            n += SELDOM if all(one.probe.idle for one in self.watched) else 1
            # On a fixed grid, so that delays do not add up; ticks missed by a stall are skipped, not made up for.
            late = time.monotonic() - begun - n * interval_s
            if late > interval_s:
                continue
            if self._going.acquire(timeout=max(-late, 0)):
                return
            self.sample()


def _series(one: Watched, place: int, column: Column, epoch_ns: int, *, thin: bool) -> Series | None:
    # A column that appeared later is missing in the rows before.
    seen = [(at, float(v)) for at, row in one.rows if place < len(row) and (v := row[place]) is not None]
    if not seen:
        return None
    values = unwrap([v for _, v in seen], column.wraps_at)
    times = [at + epoch_ns for at, _ in seen]
    if len(values) > 2 and len(set(values)) == 1:
        # What never moved is told by its two ends; most counters of a run are such.
        times, values = [times[0], times[-1]], [values[0], values[-1]]
    if thin and column.kind is SeriesKind.COUNTER:
        last = len(values) - 1
        kept = [i for i, v in enumerate(values) if i in (0, last) or not values[i - 1] == v == values[i + 1]]
        times, values = [times[i] for i in kept], [values[i] for i in kept]
    labels = dict(column.labels) if one.node is None else {**column.labels, "node": one.node}
    return Series(
        metric=column.metric,
        unit=column.unit,
        kind=column.kind,
        labels=labels,
        t_ns=tuple(times),
        values=tuple(values),
    )


def unwrap(values: Sequence[float], wraps_at: float | None) -> list[float]:
    """The same growth without the falls that a wrap explains.

    A fall is a wrap when it leaves a growth below half the range; the counter must be read that often (a counter of
    milliseconds of 100 requests in flight: every 6 h). Any other fall is a reset (a module loaded anew, a device
    replaced) and stays a fall: what grew across it is not known, and whoever takes differences finds it absent.
    """
    if wraps_at is None:
        return list(values)
    carried, added = [], 0.0
    for place, value in enumerate(values):
        fallen = place > 0 and value < values[place - 1]
        if fallen and 0 <= value + wraps_at - values[place - 1] < wraps_at / 2:
            added += wraps_at
        carried.append(value + added)
    return carried
