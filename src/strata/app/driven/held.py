"""What a node does for one run, from its first call to its last: `hold` is that time, `carry` everything within it.

What a run makes on a node lives in `Held`: the place of its layers with the open test file, its servers, the sampler.
`hold` closes it at the latest when nobody waits for the run any more, or the node's scheduler is gone.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strata import units
from strata.app.driven.window import NodeTrace, own_targets, traceable
from strata.app.driven.words import (
    ArrivedThere,
    DataThere,
    FileThere,
    LayersThere,
    MeasuredThere,
    NodeTask,
    ReachedThere,
    SampledThere,
    TraceableThere,
    TracedThere,
)
from strata.app.driver import run_sampled, server_times, server_told
from strata.app.noise import with_foreign_io
from strata.app.place import Place, check_memory
from strata.app.sampling_scope import SamplingScope, speeds_of_cards, starts_of
from strata.discover.chain import devices_of
from strata.discover.survey import survey
from strata.engine import (
    Backing,
    Request,
    TargetConfig,
    TargetProcess,
    Timing,
    engine_of,
    measure_generator,
    prepare_cell,
    run_cell,
)
from strata.engine.cell import Prepared
from strata.engine.clients.client import LEASE_S
from strata.errors import RunFailed, SafetyRefusal
from strata.fleet.node import MESSAGE_MOST, here, tell
from strata.host import testfile
from strata.host.mark import read_mark
from strata.host.proc import Sys, read_text, usable_cpus
from strata.model.analysis import Generator
from strata.model.endpoint import Endpoint, EndpointKind, address
from strata.model.foreign_io import ForeignIo
from strata.model.placement import Placement
from strata.model.progress import Glance
from strata.model.result import EngineResult, Interval
from strata.model.trace import TraceTarget
from strata.model.workload import Workload
from strata.probes import OF_NODE, PROBES, REMOTE, Sampler
from strata.probes.issuers import Issuers
from strata.probes.processes import Processes

if TYPE_CHECKING:
    from strata.app.watch_traces import Traces

LOOK_S, MISSED_MOST, TELL_S, END_S = 0.1, 15, 0.25, 20.0
"""How often `hold` looks whether anybody waits, at how many looks in a row its scheduler may be missing, how often a
measurement tells of itself, and how long it may take to end: what is in flight at a server that does not answer is
waited for."""
WATCHES_MOST = 2
"""Of the threads in which a node answers, those that watchings and traces may take: a run takes one, and one is for
questions."""
_BOOT = "/proc/sys/kernel/random/boot_id"
Tell = Callable[[dict[str, Any]], object]


class Held:
    """The part of one run on this node. One measurement at a time; stopping, telling and sampling go on beside it."""

    def __init__(self, task: NodeTask, wanted: Callable[[], bool] = lambda: True) -> None:
        """``wanted``: whether somebody still waits for the run."""
        self.task, self.over = task, threading.Event()
        self._wanted, self._stopped, self._busy = wanted, threading.Event(), threading.Lock()
        self._engine = engine_of(task.engine)
        self._place: Place | None = None
        if task.stack is not None:
            self._place = Place(task.stack, Path(task.path), {}, direct=task.direct, writes=task.writes)
        self._processes = Processes(Sys())
        self._sampler: Sampler | None = None
        self._asked = SamplingScope()
        self._told: dict[str, object] | None = None
        self._issuers: Issuers | None = None
        self._prepared: Prepared | None = None
        self._servers = ExitStack()
        self._trace = NodeTrace()
        self._arrivals: Traces | None = None

    def wants(self, wanted: Callable[[], bool]) -> None:
        """From now on that says whether the run is waited for."""
        self._wanted = wanted

    @property
    def place(self) -> Place:
        """Its layers. Raises `RunFailed` where it drives none."""
        if self._place is None:
            raise RunFailed("cannot drive a layer from this node", "", "the run drives none from here")
        return self._place

    # --- the data

    def make_file(self, size: int, fs_kind: str, *, keep: bool, expected: str | None, mapped: bool) -> FileThere:
        """On the node that has it. ``mapped``: some layer is a raw device. Raises where the engine is not there."""
        self._engine.identity()
        self.place.prepare_file(size, keep=keep, expected=expected)
        assert self.place.data is not None
        return FileThere(self.place.data, self.place.mark, self.place.map_file(fs_kind) if mapped else None)

    def place_layers(self, fs_kind: str, file: FileThere, *, own: bool) -> LayersThere:
        """``own``: the file was made here. Raises as `Place.place_layers`."""
        cpus, boot = usable_cpus(), boot_id()
        if self._place is None:
            return LayersThere(boot, cpus, {}, {}, {}, {}, (), {}, {})
        place = self._place
        self._engine.identity()
        if not own:
            place.take_file(file.data, file.mark, file.extents)
        place.place_layers(fs_kind)
        assert place.data is not None
        there = [layer.name for layer in place.stack.layers if layer.name not in place.dropped]
        endpoints = {name: place.endpoint(name) for name in there}
        return LayersThere(
            boot=boot,
            cpus=cpus,
            # A descriptor is of this process.
            endpoints={name: end.model_copy(update={"fd": None}) for name, end in endpoints.items()},
            segments={name: place.data.segments[name] for name in there},
            identity=place.data.identity,
            dropped=dict(place.dropped),
            remotes=place.remotes,
            stats={name: stats for name in there if (stats := place.stats(name)) is not None},
            under={name: devices_of(end) for name, end in endpoints.items()},
        )

    def check_still_ours(self, layer: str) -> None:
        """As `Place.check_still_ours`."""
        self.place.check_still_ours(layer)

    def drop_pages(self, layer: str) -> float:
        """As `Place.drop_pages`; `RunFailed` in place of an `OSError`."""
        try:
            return self.place.drop_pages(layer)
        except OSError as e:
            raise RunFailed("cannot drop the pages of", self.task.path, e.strerror or str(e)) from e

    def gone(self) -> str | None:
        """As `Place.gone`."""
        return self.place.gone()

    # --- measuring

    def generator(
        self, workloads: Iterable[Workload], timing: Timing, placement: Placement | None, devices: tuple[str, ...]
    ) -> tuple[Generator, tuple[ForeignIo, ...]]:
        """The load generator alone, and what the devices did meanwhile."""
        return with_foreign_io(devices, lambda: measure_generator(self._engine, workloads, timing, placement))

    def ready(self, layer: str, request: Request) -> None:
        """The page cache as asked; `measure` is next."""
        self._stopped.clear()
        self._prepared = prepare_cell(self._own(layer, request))

    def measure(self, scope: SamplingScope, say: Tell) -> MeasuredThere:
        """What was made ready, with this node's counters beside it. Raises what the engine raises."""
        prepared, self._prepared = self._prepared, None
        if prepared is None:
            raise RunFailed("cannot measure", "", "no measurement is prepared on this node")
        told = 0.0

        def hear(interval: Interval, now: Glance) -> None:
            nonlocal told
            if time.monotonic() - told >= TELL_S:
                told = time.monotonic()
                say(_message(interval, now))

        with self._busy:
            result, beside = run_sampled(self._engine, prepared, scope, hear, self._ends, self._processes)
        return MeasuredThere(result, beside, _epoch_ns())

    def alone(self, layer: str, request: Request) -> EngineResult:
        """A measurement without counters."""
        self._stopped.clear()
        with self._busy:
            return run_cell(self._engine, prepare_cell(self._own(layer, request)), None, self._ends)

    def stop(self) -> None:
        """The running measurement ends with what it has."""
        self._stopped.set()

    def begin_samples(
        self,
        scope: SamplingScope,
        interval_s: float,
        *,
        whole: bool,
        left_out: frozenset[str] = frozenset(),
        look_s: float | None = None,
    ) -> None:
        """Counters beside what happens on another node. ``whole``: of this machine too, because it is another one.

        ``left_out``: probes. ``look_s``: also who issues I/O here, looked for that often.
        """
        self._end_sampler()
        there = REMOTE | left_out
        probes = {n: p for n, p in PROBES.items() if n not in there and (whole or n in OF_NODE)}
        sampler = Sampler(
            scope.devices, interval_s, probes, paths=scope.paths, nodes=scope.nodes, processes=self._processes
        )
        self._asked, self._told = scope, server_told(scope)
        self._sampler = sampler.start()
        self._issuers = None if look_s is None else Issuers(look_s=look_s, all_s=max(1.0, look_s)).start()

    def take_samples(self, *, issuers: bool) -> SampledThere:
        """What was counted since they were taken before; it goes on. ``issuers``: who issued since then, too."""
        sampler = self._sampler
        if sampler is None:
            return SampledThere((), _NOT_BEGUN, _epoch_ns())
        who = self._issuers.take() if issuers and self._issuers is not None else ()
        return SampledThere(sampler.take(), sampler.absent, sampler.epoch_ns, who)

    def end_samples(self) -> SampledThere:
        """What was counted, or counted since it was taken."""
        sampler, who = self._sampler, self._issuers
        if sampler is None:
            return SampledThere((), _NOT_BEGUN, _epoch_ns())
        issuers = () if who is None else who.take()
        series = self._end_sampler()
        server = None if self._told is None else server_times(self._told, server_told(self._asked))
        return SampledThere(series, sampler.absent, sampler.epoch_ns, issuers, server)

    # --- a trace

    @property
    def traces(self) -> bool:
        """Whether a window is open here."""
        return self._trace.records

    def begin_trace(self, targets: tuple[TraceTarget, ...], seconds: float, max_events: int) -> None:
        """A window on these devices of this machine. Raises `RunFailed`, also where another run has one here."""
        with _TRACING:
            with _LOCK:
                others = list(_RUNS.values())
            if any(other.traces for other in others):
                raise RunFailed(
                    "cannot trace", "", "a trace is already running on this node", "wait for the end of that trace"
                )
            self._trace.begin(targets, seconds, max_events)
        if self.over.is_set():
            self._trace.close()

    def take_trace(self) -> TracedThere | None:
        """What it recorded, once it has ended; None until then."""
        return self._trace.take()

    def begin_arrivals(self, targets: tuple[TraceTarget, ...]) -> int:
        """Short traces of these devices of this machine from now on; when that was, by this node's monotonic clock.

        Returns when the first one records.
        """
        # Here: the numerical libraries are loaded by the few nodes that are asked for it.
        from strata.app.watch_traces import Traces

        self._end_arrivals()
        began_ns = time.monotonic_ns()
        self._arrivals = Traces(own_targets(targets), began_ns / units.NS_PER_S)
        self._arrivals.start()
        if self.over.is_set():
            self._end_arrivals()
        return began_ns

    def end_arrivals(self) -> ArrivedThere:
        """They end, and what they saw."""
        found = self._end_arrivals()
        return ArrivedThere((), None) if found is None else ArrivedThere(tuple(found.arrivals), found.absent)

    def stop_trace(self) -> None:
        """It ends with what it has."""
        self._trace.stop()

    # --- experiments

    def slower(self, layer: str, added_ns: float) -> Endpoint | None:
        """As `Place.slower`, until `end_servers`."""
        return self._servers.enter_context(self.place.slower(layer, added_ns))

    def other_end(self, host: str, store: Backing, clients: int, connections: int) -> str | None:
        """As `Place.other_end`, until `end_servers`; its address, None where ``host`` is not this node's."""
        if store.kind not in ("null", "memory"):
            raise SafetyRefusal("will not serve", store.path or store.kind, "a far end of an experiment has no file")
        config = TargetConfig(tcp=address(host, 0), export=store.kind, backing=store, max_connections=clients)
        try:
            server = self._servers.enter_context(TargetProcess(config))
        except RunFailed:
            return None
        # Only where it would be used: another node's memory says nothing.
        check_memory(store)
        return server.uri(connections)

    def end_servers(self) -> None:
        """Those of an experiment."""
        self._servers.close()

    # --- the end

    def close(self) -> None:
        """Everything that was made for the run is removed; may be called again. Raises what removing raises."""
        self.over.set()
        self._stopped.set()
        # A load that does not end is left to its own limit: what it writes to must not go before it.
        self._trace.close()
        self._end_arrivals()
        ended = self._busy.acquire(timeout=END_S)
        try:
            self._end_sampler()
            self._servers.close()
            prepared, self._prepared = self._prepared, None
            if prepared is not None:
                prepared.held.close()
            place, self._place = self._place, None
            if place is not None:
                place.close()
        finally:
            if ended:
                self._busy.release()

    def _ends(self) -> bool:
        return self._stopped.is_set() or self.over.is_set() or not self._wanted()

    def _end_sampler(self) -> Any:
        sampler, self._sampler = self._sampler, None
        who, self._issuers = self._issuers, None
        if who is not None:
            who.stop()
        return () if sampler is None else sampler.stop()

    def _end_arrivals(self) -> Traces | None:
        found, self._arrivals = self._arrivals, None
        if found is not None:
            found.stop()
        return found

    def _own(self, layer: str, request: Request) -> Request:
        """The request with the file that this node has open, and a limit to how long nobody looks at its load."""
        if request.more:
            raise RunFailed("cannot drive", request.endpoint.uri, "a layer has one target")
        endpoint = request.endpoint
        if endpoint.kind is EndpointKind.FILE:
            # By its descriptor alone: the name may lead elsewhere by now.
            endpoint = self.place.endpoint(layer)
            if endpoint.kind is not EndpointKind.FILE or endpoint.fd is None:
                raise SafetyRefusal("will not open", request.endpoint.uri, "it is not the file of this run")
        return request.model_copy(update={"endpoint": endpoint, "lease_s": LEASE_S})


_NOT_BEGUN = ("counters: sampling was not begun",)
_RUNS: dict[str, Held] = {}
_LOCK, _TRACING = threading.Lock(), threading.Lock()


def hold(task: NodeTask) -> None:
    """The time of a run on this node, until `close` is carried, nobody waits any more, or the scheduler is gone.

    Raises `RunFailed` where the node is at another run, or is watched by too many, and what removing raises.
    """
    state = here()
    held = Held(task)
    with _LOCK:
        if task.watches:
            _check_watched(state.name)
        elif driving := [run for run, other in _RUNS.items() if not other.task.watches]:
            why = f"it drives layers for run {driving[0]}"
            raise RunFailed("cannot use node", state.name, why, "wait for that run to end")
        _RUNS[task.run] = held
    missed = 0
    try:
        tell({"held": task.run})
        while not held.over.wait(LOOK_S) and not state.cancelled() and missed < MISSED_MOST:
            # A machine that stood still as a whole, as one that was suspended, is heard of again at once.
            missed = 0 if state.scheduler_alive() else missed + 1
    finally:
        try:
            held.close()
        finally:
            with _LOCK:
                _RUNS.pop(task.run, None)


def carry(run: str, method: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """``method`` of the run's `Held` on this node. Raises `RunFailed` where the node holds no such run."""
    held = _RUNS.get(run)
    if held is None and method == "close":
        # It has ended it by itself, and nothing is left.
        return None
    if held is None or method.startswith("_"):
        why = "the node has ended it: its client did not answer, or the node was restarted"
        hint = f"strata measure --resume {run}; a sweep: strata scale --resume {run}"
        raise RunFailed("cannot continue run", run, why, hint)
    if method == "measure":
        named = {**named, "say": tell}
    return getattr(held, method)(*args, **named)


def data_there(path: str, load_seconds: float) -> DataThere:
    """What is under the place of the data, and what lies there already."""
    where = Path(path)
    mark = read_mark(where)
    return DataThere(survey(where.parent, load_seconds), mark, mark is not None and testfile.was_kept(where))


def reached_there(ends: Mapping[str, str]) -> ReachedThere:
    """What is below these endpoints, by layer, without a look into any of it. Raises `RunFailed` where the node is
    watched by too many."""
    with _LOCK:
        _check_watched(here().name)
    targets = {name: Endpoint.parse(uri) for name, uri in ends.items()}
    gone = [
        f"layer {name}: {target.path} does not exist or is not readable"
        for name, target in targets.items()
        if target.path is not None and not os.access(target.path, os.F_OK)
    ]
    under = {name: devices_of(target) for name, target in targets.items()}
    starts = starts_of(n for u in under.values() for n in u.devices)
    return ReachedThere(boot_id(), under, starts, speeds_of_cards(), tuple(gone))


def traceable_there(ends: Mapping[str, str]) -> TraceableThere:
    """As `traceable`, of this node. Raises `RunFailed` where too many watch or trace it."""
    with _LOCK:
        _check_watched(here().name)
    return traceable(ends, boot_id())


def _check_watched(node: str) -> None:
    if sum(held.task.watches for held in _RUNS.values()) >= WATCHES_MOST:
        why = f"it takes part in {WATCHES_MOST} watchings or traces already"
        raise RunFailed("cannot use node", node, why, "end one of them")


def boot_id() -> str:
    """Of this machine since it was started."""
    return (read_text(_BOOT) or "").strip()


def _message(interval: Interval, now: Glance) -> dict[str, Any]:
    """As small as messages have to be: without histograms, and without the glance, where they are too long."""
    told: dict[str, Any] = {
        "interval": _plain(interval),
        "now": _plain(now),
    }
    if len(json.dumps(told)) > MESSAGE_MOST:
        for side in told["interval"].values():
            if isinstance(side, dict) and "service_time" in side:
                side["service_time"] = None
    if len(json.dumps(told)) > MESSAGE_MOST:
        told["now"] = {}
    return told


def _plain(value: Interval | Glance) -> Any:
    return json.loads(value.model_dump_json())


def _epoch_ns() -> int:
    return time.time_ns() - time.monotonic_ns()
