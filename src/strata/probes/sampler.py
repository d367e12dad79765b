"""Reads all probes at a steady pace and gives back what they saw as series, aligned in time.

A first sample is taken in `Sampler.start` and a last one in `Sampler.stop`, both in the caller's thread, so that the
growth of every counter covers exactly what was done between the two calls. The probes of this machine share one thread
and with it their instants (a sample of all takes some milliseconds); a source on another machine has a thread of its
own, so that a slow answer delays nobody, and so has a probe that says itself how often it must be read.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial

from strata.errors import UsageError
from strata.host.netns import within
from strata.host.proc import Sys
from strata.model.progress import Glance
from strata.model.series import Series
from strata.probes.glance import glance
from strata.probes.port import Opener, ProbedNode, ProbeScope
from strata.probes.processes import Processes
from strata.probes.recording import ProbeRecording, Watched

REMOTE_INTERVAL_S = 1.0
"""Between two questions to another machine: what exporters are made for."""


class Sampler:
    """One recording. ``devices``: the block devices to watch; ``interval_s``: time between samples (0.01 s or more).

    ``paths``: files whose file systems are watched. ``nodes``: whose network, processes and groups are read; the
    columns of a named node carry the label ``node``. CPUs, memory and devices are the machine's, not a node's,
    and are read once. Without nodes it is this machine as it is. ``processes``: what earlier recordings know of them.
    """

    def __init__(
        self,
        devices: Sequence[str],
        interval_s: float = 0.25,
        probes: Mapping[str, Opener] | None = None,
        sys: Sys | None = None,
        *,
        paths: Sequence[str] = (),
        nodes: Sequence[ProbedNode] = (),
        processes: Processes | None = None,
    ) -> None:
        if not interval_s >= 0.01:
            raise UsageError(
                "cannot sample every",
                f"{interval_s} s",
                "reading the counters this often would disturb the measurement",
            )
        # Here, not above: the registry's own module imports this one.
        from strata.probes import PROBES

        self._openers = PROBES if probes is None else probes
        self._devices, self._paths = tuple(devices), tuple(paths)
        self._nodes = tuple(nodes) or (ProbedNode(),)
        self._sys = sys or Sys()
        self._processes = processes or Processes(self._sys)
        self._steady = ProbeRecording(interval_s)
        self._edges = ProbeRecording(None)
        self._paced: dict[str, ProbeRecording] = {}
        self._remote = [ProbeRecording(max(interval_s, REMOTE_INTERVAL_S)) for node in self._nodes if node.url]
        self._started = self.stopped = False
        self._epoch_ns = 0
        self._looked: tuple[float, float] | None = None
        self.absent: tuple[str, ...] = ()
        """What could not be read and why, known from `start` on."""

    def start(self) -> Sampler:
        """Opens the probes, takes the first sample, and goes on in a thread of its own."""
        if self._started:
            raise RuntimeError("a Sampler is started once")
        self._started = True
        # Samples are placed by the monotonic clock: a step of the wall clock must not bend the rates.
        self._epoch_ns = time.time_ns() - time.monotonic_ns()
        try:
            self._open()
            for recording in self._all:
                recording.sample()
        except BaseException:
            self._close()
            raise
        self._looked = time.monotonic(), time.process_time()
        for recording in self._all:
            recording.run()
        return self

    def stop(self) -> tuple[Series, ...]:
        """Ends the threads, takes the last sample and gives back every series that has at least one value."""
        if not self._started:
            raise RuntimeError("the Sampler was not started")
        for recording in self._all:
            recording.end()
        self.stopped = True
        try:
            for recording in self._all:
                recording.sample()
            return tuple(series for recording in self._all for series in recording.series(self._epoch_ns))
        finally:
            self._close()

    def take(self) -> tuple[Series, ...]:
        """What was seen since the last call, for who samples without an end: nothing of it is held any longer."""
        return tuple(series for recording in self._all for series in recording.taken(self._epoch_ns))

    @property
    def epoch_ns(self) -> int:
        """What is added to the monotonic clock to place its samples, as it was at `start`."""
        return self._epoch_ns

    def glance(self) -> Glance:
        """What the last two samples say of now, for who watches; absent parts are None."""
        now, spent = time.monotonic(), time.process_time()
        before, self._looked = self._looked, (now, spent)
        own = (spent - before[1]) / (now - before[0]) if before and now > before[0] else None
        return glance(self._steady.watched, [node.name for node in self._nodes if not node.url], own)

    @property
    def _all(self) -> tuple[ProbeRecording, ...]:
        return (self._steady, *self._paced.values(), *self._remote, self._edges)

    def _open(self) -> None:
        from strata.probes import OF_NODE, REMOTE

        here = ProbeScope(sys=self._sys, devices=self._devices, paths=self._paths)
        remote = iter(self._remote)
        self._processes.begin()
        for name, opener in self._openers.items():
            if name not in OF_NODE:
                self._add(self._recording(name), name, opener, here, None)
        for node in self._nodes:
            scope = node.scope(self._sys, self._devices, self._paths, self._processes)
            if node.url:
                self._open_node(node, scope, REMOTE, next(remote))
                continue
            try:
                # A thread for all of them, not one for each file.
                within(node.netns, partial(self._open_node, node, scope, OF_NODE - REMOTE, None))
            except UsageError as e:
                # A node that is gone takes its counters along, not the measurement.
                self.absent += (f"counters of {node.name or 'this machine'}: {e.what} {e.where}: {e.why}",)

    def _open_node(
        self, node: ProbedNode, scope: ProbeScope, names: frozenset[str], away: ProbeRecording | None
    ) -> None:
        for name, opener in self._openers.items():
            if name in names:
                self._add(away or self._recording(name), name, opener, scope, node.name)

    def _recording(self, name: str) -> ProbeRecording:
        from strata.probes import AT_EDGES, EVERY_S

        if name in EVERY_S:
            return self._paced.setdefault(name, ProbeRecording(EVERY_S[name], thin=True))
        return self._edges if name in AT_EDGES else self._steady

    def _add(self, recording: ProbeRecording, name: str, opener: Opener, scope: ProbeScope, node: str | None) -> None:
        place = name if node is None else f"{name} of {node}"
        try:
            probe = opener(scope)
        except UsageError as e:
            # A node that is gone takes its counters along, not the measurement.
            self.absent += (f"{place}: {e.what} {e.where}: {e.why}",)
            return
        if recording in self._paced.values() and not probe.columns:
            # To wake up is dearer than to read.
            probe.close()
        else:
            recording.watched.append(Watched(probe, node))
        self.absent += tuple(f"{place}: {why}" for why in probe.absent)

    def _close(self) -> None:
        for recording in self._all:
            recording.close()
