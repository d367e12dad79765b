"""The place of a stack whose layers are driven from their own nodes, to whoever runs it: each question goes to the node
of its layer, and the answers of all are one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from strata.app.credentials import PASSWORD
from strata.app.driven.group import HERE, NodeGroup, node_call, raised
from strata.app.driven.scopes import Scopes, shifted
from strata.app.driven.tracing import TracingNodes
from strata.app.driven.words import FileThere, LayersThere, MeasuredThere, NodeTask, SampledThere
from strata.app.driver import Hear, Stop, interval_of
from strata.app.place import Place
from strata.app.sampling_scope import SamplingScope
from strata.app.stacks import drop_layers
from strata.app.trace import SHORT_EVENTS, ShortTrace, missing_of, shortly, summaries
from strata.engine import Backing, Engine, Request, Timing
from strata.engine.cell import Prepared
from strata.errors import RunFailed, StrataError, UsageError
from strata.model.analysis import Generator
from strata.model.endpoint import Endpoint, EndpointKind, own_export
from strata.model.foreign_io import ForeignIo
from strata.model.placement import Placement
from strata.model.progress import Glance, Phase, Progress
from strata.model.result import EngineResult, Interval
from strata.model.run import Run
from strata.model.stack import Layer, Stack
from strata.model.trace import TraceSummary
from strata.model.workload import Workload

LOOK_S = 0.1
BEYOND_S = 60.0
"""A measurement that has not answered so long after its end is lost; what is in flight is waited for 30 s."""


def node_of(layer: Layer) -> str:
    """Who drives it."""
    return layer.node or HERE


def owner_of(stack: Stack) -> str:
    """Who has the file that all layers reach: the node of the first layer that names it."""
    return next(node_of(x) for x in stack.layers if x.target.kind is EndpointKind.FILE)


class NodesPlace(Place):
    """See above. `prepare` begins the run on all nodes, `close` ends it there."""

    def __init__(
        self, group: NodeGroup, stack: Stack, data_path: Path, *, run: str, engine: str, direct: bool, writes: bool
    ) -> None:
        super().__init__(stack, data_path, {}, direct=direct, writes=writes)
        self.group, self._run, self._engine = group, run, engine
        self._there: dict[str, LayersThere] = {}
        self._of = {layer.name: node_of(layer) for layer in stack.layers}
        self._scopes = Scopes(stack, group.nodes, str(data_path))

    def prepare(
        self, size: int, fs_kind: str, emit: Callable[[Progress], None], *, keep: bool, resumed: Run | None
    ) -> Stack:
        owner = owner_of(self.stack)
        self._check_own_servers(owner)
        held = sorted({*self._of.values(), *self.group.nodes, *self._scopes.read_here})
        self.group.begin({node: self._task(node) for node in held})
        where = f"{self.path} on node {owner}" if owner else str(self.path)
        emit(Progress(phase=Phase.PREPARE, message=f"writing the test file {where}"))
        began_with = resumed.data.mark if resumed is not None and resumed.data is not None else None
        mapped = any(layer.target.kind is EndpointKind.BLOCK for layer in self.stack.layers)
        made: FileThere = self.group.call(
            owner, "make_file", size, fs_kind, keep=keep, expected=began_with, mapped=mapped
        )
        self._mark, self.data = made.mark, made.data
        placed = self.group.each(
            {
                node: node_call("place_layers", fs_kind, made, own=node == owner)
                for node in held
                if node not in self.group.lost
            }
        )
        self._there = {node: raised(found, node) for node, found in placed.items()}
        self._together()
        left = drop_layers(self.stack, set(self.dropped))
        if not left.layers:
            raise RunFailed("nothing to measure:", "no layer is left", "; ".join(self.dropped.values()))
        return left

    # --- what the run asks of the data

    def check_still_ours(self, layer: str) -> None:
        self.group.call(self._of[layer], "check_still_ours", layer)

    def drop_pages(self, layer: str) -> float:
        left: float = self.group.call(self._of[layer], "drop_pages", layer)
        return left

    def gone(self) -> str | None:
        owner = owner_of(self.stack)
        if owner in self.group.lost:
            return f"the state of {self.path} is unknown: node {owner}, which has it, is lost"
        said: str | None = self.group.call(owner, "gone")
        return said

    def close(self) -> None:
        """Raises `RunFailed` naming what a node could not remove."""
        if problems := self.group.end():
            hint = "what is left there is removed by strata clean, on that node"
            raise RunFailed("cannot end the run on all nodes:", "", "; ".join(problems), hint)

    # --- driving, as `strata.app.driver.Driver` has it

    def ready(self, layer: str, request: Request) -> Prepared:
        """The counters of the other nodes begin with it."""
        node, timing = self._of[layer], request.timing
        asked = {node: node_call("ready", layer, _bare(request))}
        every_s = interval_of(timing)
        for other, scope, whole in self._besides(layer):
            asked[other] = node_call("begin_samples", scope, every_s, whole=whole)
        # What another node cannot do costs its counters, not the measurement.
        raised(self.group.each(asked)[node], node)
        return Prepared(request, (), None, None)

    def measured(
        self, layer: str, prepared: Prepared, hear: Hear, stop_requested: Stop
    ) -> tuple[EngineResult, dict[str, Any]]:
        node, timing = self._of[layer], prepared.request.timing

        def take(message: dict[str, Any]) -> None:
            hear(Interval.model_validate(message["interval"]), Glance.model_validate(message["now"]))

        others = [other for other, _, _ in self._besides(layer)]
        deadline_s = timing.ramp_s + timing.runtime_s + BEYOND_S
        asked = {node: node_call("measure", self._scopes.own(node, layer))}
        given = self.group.each(asked, deadline_s, take, stop_requested)[node]
        ended = self.group.each({other: node_call("end_samples") for other in others})
        done: MeasuredThere = raised(given, node)
        beside = dict(done.beside)
        beside["absent"] = (*beside["absent"], *self._scopes.unread(layer))
        for other, found in ended.items():
            try:
                sampled: SampledThere = raised(found)
                by_ns = self._apart_ns(node, done.epoch_ns, other, sampled.epoch_ns)
            except StrataError as e:
                beside["absent"] = (*beside["absent"], f"counters of {other}: {e.headline}")
                continue
            beside["counters"] = (*beside["counters"], *shifted(sampled.series, by_ns, other))
            beside["absent"] = (*beside["absent"], *(f"{other}: {why}" for why in sampled.absent))
            beside["server"] = beside["server"] or sampled.server
        for other in sorted(self.group.lost - {node} - set(others)):
            beside["absent"] = (*beside["absent"], f"counters of {other}: the node is lost")
        return done.result, beside

    def _apart_ns(self, node: str, epoch_ns: int, other: str, other_epoch_ns: int) -> int:
        """How far the time of day of ``node`` is ahead of the other's, by their monotonic clocks as they stand to ours
        and what each adds to its own. Raises `RunFailed` where a clock cannot be read."""
        return (epoch_ns + self.group.offset_ns(node)) - (other_epoch_ns + self.group.offset_ns(other))

    def alone(self, layer: str, request: Request, stop_requested: Stop) -> EngineResult:
        deadline_s = request.timing.ramp_s + request.timing.runtime_s + BEYOND_S
        node = self._of[layer]
        asked = {node: node_call("alone", layer, _bare(request))}
        given = self.group.each(asked, deadline_s, stop_requested=stop_requested)[node]
        result: EngineResult = raised(given, node)
        return result

    def generator(
        self, _engine: Engine, workloads: tuple[Workload, ...], timing: Timing, placement: Placement | None
    ) -> tuple[Generator, tuple[ForeignIo, ...]]:
        """Of each workload the ceiling of the slowest node; the devices are those of the lowest layer's node."""
        nodes = dict.fromkeys(self._of.values())
        lowest = self._of[self.stack.layers[0].name]
        each = {}
        for node in nodes:
            # One after the other: several nodes may be one machine.
            devices = self._scopes.devices(node) if node == lowest else ()
            each[node] = self.group.call(node, "generator", workloads, timing, placement, devices)
        iops: dict[str, float] = {}
        cost: dict[str, float] = {}
        for found, _ in each.values():
            for key, rate in found.iops.items():
                if key not in iops or rate < iops[key]:
                    iops[key], cost[key] = rate, found.ns_per_io[key]
        return Generator(iops=iops, ns_per_io=cost), each[lowest][1]

    def check_trace(self) -> None:
        """One that may not says so beside each trace."""
        # The file itself is not there yet.
        self._tracing(map(_at_its_directory, self.stack.layers)).look()

    def traced(self, _engine: Engine, layer: str, request: Request, stop_requested: Stop) -> ShortTrace:
        """By the nodes which have the devices that the layer's requests reach, whoever drives it."""
        at = self.stack.layer(layer)
        # From the top downward, as the devices of one host.
        own = [one for one in (at, *self.stack.stands_on(at)) if self._has_devices(one)]
        nodes = self._tracing(own or filter(self._has_devices, self.stack.layers))
        request, limit = shortly(request)
        try:
            nodes.begin(limit, SHORT_EVENTS)
            result = self.alone(layer, request, stop_requested)
            nodes.stop()
            while not nodes.wait(LOOK_S):
                pass
            found = nodes.result()
        finally:
            nodes.close()
        devices: list[TraceSummary] = []
        said = list(found.absent)
        for one in found.windows:
            figures, told = one.told
            devices += summaries(figures.model_copy(update={"devices": one.devices}), told, result)
            said += (f"{one.name}: {why}" for why in missing_of(told, limit, SHORT_EVENTS))
        return ShortTrace(tuple(devices), tuple(said))

    def _tracing(self, layers: Iterable[Layer]) -> TracingNodes:
        """Those of these layers that are files and devices. Raises `RunFailed` where a node of them has gone."""
        local = tuple(one for one in layers if one.target.kind in (EndpointKind.FILE, EndpointKind.BLOCK))
        stack = self.stack.model_copy(update={"layers": local})
        return TracingNodes(NodeGroup(self.group.cluster, stack, "trace"), stack)

    def _has_devices(self, layer: Layer) -> bool:
        under = self._there[self._of[layer.name]].under.get(layer.name)
        return under is not None and bool(under.devices)

    # --- what an experiment changes

    def cpus(self, layer: str) -> tuple[int, ...]:
        return self._there[self._of[layer]].cpus

    @contextmanager
    def slower(self, layer: str, added_ns: float) -> Iterator[Endpoint | None]:
        with self._served(self._of[layer]):
            yield self.group.call(self._of[layer], "slower", layer, added_ns)

    @contextmanager
    def other_end(self, layer: str, store: Backing, clients: int) -> Iterator[Endpoint | None]:
        """By the node whose address it is: it can listen there, and no other can."""
        endpoint = self.endpoint(layer)
        host = urlsplit(endpoint.uri).hostname
        for node in self.group.nodes:
            if node == self._of[layer]:
                continue
            with self._served(node):
                uri = self.group.call(node, "other_end", host, store, clients, endpoint.connections)
                if uri is not None:
                    yield Endpoint.parse(uri)
                    return
        yield None

    @contextmanager
    def _served(self, node: str) -> Iterator[None]:
        try:
            yield
        finally:
            self.group.call(node, "end_servers")

    # --- inside

    def _task(self, node: str) -> NodeTask:
        """The layers that it drives, and nothing of the others' places: it is where it is."""
        others = {name for name, of in self._of.items() if of != node}
        stack = None
        if len(others) < len(self.stack.layers):
            stack = drop_layers(self.stack, others)
            stack = stack.model_copy(update={"layers": tuple(map(_with_own_password, stack.layers))})
            if node != HERE:
                stack = stack.model_copy(
                    update={"nodes": tuple(n.model_copy(update={"netns": None}) for n in stack.nodes)}
                )
        return NodeTask(self._run, stack, str(self.path), self._engine, self.direct, self.writes)

    def _together(self) -> None:
        assert self.data is not None
        segments, identity = {}, {}
        for layer in self.stack.layers:
            node = self._of[layer.name]
            found = self._there[node]
            if layer.name in found.dropped:
                where = f"on node {node}: " if node != HERE else ""
                self.dropped[layer.name] = f"{where}{found.dropped[layer.name]}"
                continue
            self._endpoints[layer.name] = found.endpoints[layer.name]
            segments[layer.name] = found.segments[layer.name]
            identity[layer.name] = found.identity[layer.name]
        self._stats = {name: path for found in self._there.values() for name, path in found.stats.items()}
        order = list(self._of)
        found_remotes = (remote for found in self._there.values() for remote in found.remotes)
        self.remotes = tuple(sorted(found_remotes, key=lambda remote: order.index(remote.layer)))
        self.data = self.data.model_copy(update={"segments": segments, "identity": identity})
        self._scopes.placed(self._there, self._endpoints, self._of)

    def _check_own_servers(self, owner: str) -> None:
        for layer in self.stack.layers:
            if own_export(layer.endpoint) is not None and self._of[layer.name] != owner:
                why = f"Strata serves the file on its own node, {owner or 'this machine'}, for that node alone"
                raise UsageError("cannot start the server of layer", layer.name, why, "name that node, or a server")

    def _besides(self, layer: str) -> list[tuple[str, SamplingScope, bool]]:
        """As `Scopes.besides`, of the nodes that are there."""
        found = self._scopes.besides(self._of[layer], layer)
        return [(other, scope, whole) for other, scope, whole in found if other not in self.group.lost]


def _at_its_directory(layer: Layer) -> Layer:
    path = layer.target.path
    if layer.target.kind is not EndpointKind.FILE or path is None:
        return layer
    return layer.model_copy(update={"endpoint": f"file:{Path(path).parent}"})


def _with_own_password(layer: Layer) -> Layer:
    """The node has not the environment of whoever started the run, in which the password of a share may be."""
    if layer.target.kind is not EndpointKind.SMB or layer.target.password is not None:
        return layer
    return layer.with_password(os.environ.get(PASSWORD))


def _bare(request: Request) -> Request:
    """Without descriptors: they are of a process."""
    return request.model_copy(update={"endpoint": request.endpoint.model_copy(update={"fd": None})})
