"""Reads all probes at a steady pace from one thread, and gives back what they saw as series.

A first sample is taken in `Sampler.start` and a last one in `Sampler.stop`, both in the caller's thread, so that the
growth of every counter covers exactly what was done between the two calls.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import count

from strata.errors import UsageError
from strata.host.proc import Sys
from strata.model.series import Series
from strata.probes.port import Opener, Probe

_Row = tuple[int, Sequence[float | None]]


class Sampler:
    """One recording. ``devices``: the block devices to watch; ``interval_s``: time between samples (0.01 s or more)."""

    def __init__(
        self,
        devices: Sequence[str],
        interval_s: float = 0.25,
        probes: Mapping[str, Opener] | None = None,
        sys: Sys | None = None,
    ) -> None:
        if not interval_s >= 0.01:
            raise UsageError(
                "cannot sample every", f"{interval_s} s", "reading the counters would disturb what they count"
            )
        # Here, not above: the registry's own module imports this one.
        from strata.probes import PROBES

        self._openers = PROBES if probes is None else probes
        self._devices, self._interval_s = tuple(devices), interval_s
        self._sys = sys or Sys()
        self._open: list[tuple[Probe, list[_Row]]] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._epoch_ns = 0

    def start(self) -> Sampler:
        """Opens the probes, takes the first sample, and goes on in a thread of its own."""
        if self._thread is not None:
            raise RuntimeError("a Sampler is started once")
        # Samples are placed by the monotonic clock: a step of the wall clock must not bend the rates.
        self._epoch_ns = time.time_ns() - time.monotonic_ns()
        try:
            for opener in self._openers.values():
                self._open.append((opener(self._devices, self._sys), []))
            self._sample()
        except BaseException:
            self._close()
            raise
        self._thread = threading.Thread(target=self._run, name="strata-probes", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> tuple[Series, ...]:
        """Ends the thread, takes the last sample and gives back every series that has at least one value."""
        if self._thread is None:
            raise RuntimeError("the Sampler was not started")
        self._stop.set()
        self._thread.join()
        try:
            if self._open:
                self._sample()
            return tuple(series for probe, rows in self._open for series in _series(probe, rows))
        finally:
            self._close()

    def _run(self) -> None:
        begun = time.monotonic()
        for n in count(1):
            # On a fixed grid, so that delays do not add up; ticks missed by a stall are skipped, not made up for.
            late = time.monotonic() - begun - n * self._interval_s
            if late > self._interval_s:
                continue
            if self._stop.wait(max(-late, 0)):
                return
            self._sample()

    def _sample(self) -> None:
        for probe, rows in self._open:
            at = time.monotonic_ns()
            values = probe.read()
            rows.append(((at + time.monotonic_ns()) // 2 + self._epoch_ns, values))

    def _close(self) -> None:
        with contextlib.ExitStack() as closing:
            for probe, _ in self._open:
                closing.callback(probe.close)
        self._open = []


def _series(probe: Probe, rows: Sequence[_Row]) -> tuple[Series, ...]:
    found = []
    for place, column in enumerate(probe.columns):
        seen = [(at, float(value)) for at, values in rows if (value := values[place]) is not None]
        if seen:
            found.append(
                Series(
                    metric=column.metric,
                    unit=column.unit,
                    kind=column.kind,
                    labels=dict(column.labels),
                    t_ns=tuple(at for at, _ in seen),
                    values=tuple(value for _, value in seen),
                )
            )
    return tuple(found)
