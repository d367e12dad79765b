"""The devices below the layers of a stack, each traced by a node of its machine, placed on this machine's clock.

Which devices a layer has is found by the node that the layer names, where its path is. One node of each machine records
them all: the first that may; where none may, this process, if it is that machine. A node follows the devices of its own
machine by their names, within its own bounds (`window.NodeTrace`); what it was asked for only says which.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from strata.app.driven.group import HERE, NodeCall, NodeGroup, node_call
from strata.app.driven.held import boot_id, traceable_there
from strata.app.driven.window import traceable
from strata.app.driven.words import NodeTask, TraceableThere, TracedThere
from strata.app.stacks import drop_layers
from strata.errors import RunFailed, StrataError
from strata.fleet import Call, Cluster
from strata.model.endpoint import EndpointKind
from strata.model.stack import Layer, Stack
from strata.model.trace import DeviceTrace, NodeWindow, TraceFigures, TraceRecording, TraceTarget

ASK_S, TAKE_S = 30.0, 0.5
"""For how long an answer is waited for, and how often it is asked whether a window has ended."""
_THIS = "this machine"


@dataclass(frozen=True)
class MachineTrace:
    """One machine's part: ``told`` as it was recorded there, ``window`` on our clock, ``devices`` too."""

    name: str
    told: tuple[TraceFigures, TraceRecording]
    window: NodeWindow
    devices: tuple[DeviceTrace, ...]


@dataclass(frozen=True)
class NodesTraced:
    """All of them, in the order of the layers. ``absent``: what was not traced, and why; ``layers``: which were."""

    figures: TraceFigures
    windows: tuple[MachineTrace, ...]
    absent: tuple[str, ...]
    layers: frozenset[str]


@dataclass(frozen=True)
class _Clock:
    """A node's clock was ahead of ours by something from ``low`` to ``high`` when it was read."""

    low: int
    high: int

    def until(self, later: _Clock | None) -> _Clock:
        """From here to there, at any time between: two clocks part steadily."""
        return self if later is None else _Clock(min(self.low, later.low), max(self.high, later.high))

    @property
    def offset_ns(self) -> int:
        return (self.low + self.high) // 2

    @property
    def bound_ns(self) -> int:
        return (self.high - self.low + 1) // 2


class TracingNodes:
    """The windows of one trace; `nodes_traced` opens it."""

    def __init__(self, group: NodeGroup, stack: Stack) -> None:
        self._group, self._stack = group, stack
        self._absent: dict[str, None] = {}
        self._there: dict[str, TraceableThere] = {}
        self._recorded: dict[str, TracedThere] = {}
        self._clocks: dict[str, _Clock] = {}
        self._open: set[str] = set()
        self._asked_at = 0.0

    def look(self) -> dict[str, tuple[TraceTarget, ...]]:
        """By node what it would record; nothing is begun. Raises `RunFailed` where none may."""
        self._look()
        chosen = self._chosen()
        if not chosen:
            self._nobody()
        return chosen

    def begin(self, seconds: float, max_events: int) -> None:
        """Returns when all record that can. Raises `RunFailed` where none does."""
        chosen = self.look()
        task = NodeTask(uuid.uuid4().hex, None, "", "native", direct=False, writes=False, watches=True)
        self._group.begin(dict.fromkeys(chosen, task))
        for name in sorted(self._group.lost & set(chosen)):
            self._lose(name, "it did not start to trace: the node is busy or disconnected")
        for name in sorted(set(chosen) - self._group.lost):
            self._read_clock(name)
        calls = {
            name: node_call("begin_trace", targets, seconds, max_events)
            for name, targets in chosen.items()
            if name in self._clocks
        }
        for name, given in self._each(calls).items():
            if isinstance(given, StrataError):
                self._lose(name, given.headline)
            else:
                self._open.add(name)
        if not self._open:
            self._nobody()

    @property
    def absent(self) -> tuple[str, ...]:
        """What is not traced so far, and why."""
        return tuple(self._absent)

    def stop(self) -> None:
        """All end with what they have."""
        self._each(dict.fromkeys(self._open, node_call("stop_trace")))
        self._asked_at = 0.0

    def wait(self, timeout_s: float) -> bool:
        """Whether all have ended. A node that is lost has."""
        if self._open and time.monotonic() - self._asked_at >= TAKE_S:
            for name, given in self._each(dict.fromkeys(self._open, node_call("take_trace"))).items():
                if isinstance(given, StrataError):
                    self._lose(name, given.headline)
                elif given is not None:
                    self._recorded[name] = given
                    self._read_clock(name, again=True)
                self._open -= {name} if given is not None else set()
            self._asked_at = time.monotonic()
        if self._open:
            time.sleep(timeout_s)
        return not self._open

    def result(self) -> NodesTraced:
        """All that was recorded. Raises `RunFailed` where nothing was."""
        if not self._recorded:
            self._nobody()
        names = [name for name in self._order if name in self._recorded]
        began = {name: self._recorded[name].recording.began_ns - self._clocks[name].offset_ns for name in names}
        first = min(began.values())
        windows = tuple(self._placed(name, began[name], first) for name in names)
        end = max(began[name] + self._recorded[name].figures.window_ns for name in names)
        figures = TraceFigures(
            window_ns=end - first,
            events=sum(one.told[0].events for one in windows),
            devices=tuple(device for one in windows for device in one.devices),
        )
        boots = {self._there[name].boot for name in names}
        layers = frozenset(x for there in self._there.values() if there.boot in boots for x in there.targets)
        return NodesTraced(figures, windows, tuple(self._absent), layers)

    def close(self) -> None:
        """Ends it on every machine that is there."""
        self._group.end()

    # --- inside

    def _holder(self, layer: Layer) -> str:
        """The node that knows its devices: the one that it names; this process where that is read from here."""
        return layer.node if layer.node is not None and layer.node in self._group.nodes else HERE

    @property
    def _order(self) -> tuple[str, ...]:
        """The nodes by their layers, this process last."""
        return (*(n for n in dict.fromkeys(map(self._holder, self._stack.layers)) if n != HERE), HERE)

    def _each(self, calls: Mapping[str, NodeCall]) -> dict[str, Any]:
        """What they give. Where the scheduler is gone, all of them are."""
        if not calls:
            return {}
        try:
            return self._group.each(calls, ASK_S)
        except StrataError as e:
            return dict.fromkeys(calls, e)

    def _look(self) -> None:
        """Which devices the layers have, by the nodes that they name; this process looks for the others."""
        of: dict[str, dict[str, str]] = {name: {} for name in self._order}
        for layer in self._stack.layers:
            # Without what only a client needs: passwords do not travel.
            of[self._holder(layer)][layer.name] = layer.endpoint
        calls = {name: Call.of(traceable_there, ends) for name, ends in of.items() if name != HERE}
        given = self._group.cluster.each(calls, ASK_S) if calls else {}
        found: dict[str, TraceableThere | StrataError] = {**given, HERE: traceable(of[HERE], boot_id())}
        for name, there in found.items():
            if isinstance(there, StrataError):
                self._lose(name, there.headline)
                continue
            self._there[name] = there
            self._absent |= dict.fromkeys(f"{name or _THIS}: {why}" for why in there.absent)

    def _chosen(self) -> dict[str, tuple[TraceTarget, ...]]:
        """By node what it is to follow: all devices of its machine, each once."""
        machines: dict[str, list[str]] = {}
        for name in self._order:
            if name in self._there:
                machines.setdefault(self._there[name].boot, []).append(name)
        chosen = {}
        for names in machines.values():
            targets = self._targets(names)
            if not targets:
                continue
            may = next((name for name in names if self._there[name].refused is None), None)
            for name in names:
                why = self._there[name].refused
                if why is not None and self._there[name].targets and (may is None or name != HERE):
                    instead = "" if may is None else f"; {may or _THIS} is the same machine and traces instead"
                    self._absent[f"{self._called(name)}: {why}{instead}"] = None
            if may is not None:
                chosen[may] = targets
        return chosen

    def _targets(self, names: Collection[str]) -> tuple[TraceTarget, ...]:
        found: dict[str, TraceTarget] = {}
        for layer in self._stack.layers:
            for name in names:
                for one in self._there[name].targets.get(layer.name, ()):
                    found.setdefault(one.name, one)
        return tuple(found.values())

    def _read_clock(self, name: str, *, again: bool = False) -> None:
        if name == HERE:
            self._clocks[name] = _Clock(0, 0)
            return
        try:
            read = self._group.cluster.clock(name)
        except StrataError as e:
            if not again:
                self._lose(name, e.headline)
            return
        now = _Clock(read.offset_ns - read.bound_ns, read.offset_ns + read.bound_ns)
        self._clocks[name] = self._clocks[name].until(now) if again else now

    def _placed(self, name: str, began: int, first: int) -> MachineTrace:
        given, clock, node = self._recorded[name], self._clocks[name], name or None
        window = NodeWindow(
            node=node,
            window_ns=given.figures.window_ns,
            events=given.figures.events,
            offset_ns=clock.offset_ns,
            bound_ns=clock.bound_ns,
            recording=given.recording.model_copy(update={"began_ns": began}),
            absent_events=given.absent,
        )
        devices = tuple(_of_node(device, node, began - first) for device in given.figures.devices)
        return MachineTrace(name or _THIS, (given.figures, given.recording), window, devices)

    def _lose(self, name: str, why: str) -> None:
        self._absent[f"{self._called(name)}: {why}"] = None
        self._open.discard(name)

    def _called(self, name: str) -> str:
        layers = ", ".join(layer.name for layer in self._stack.layers if self._holder(layer) == name)
        return f"{name or _THIS}{layers and f' ({layers})'}"

    def _nobody(self) -> None:
        why = "; ".join(self._absent) or "no layer names a file or device of a machine that can be traced"
        hint = f"look at the nodes: strata node list {self._group.address}"
        raise RunFailed("cannot trace", self._stack.name, why, hint)


def _of_node(device: DeviceTrace, node: str | None, by_ns: int) -> DeviceTrace:
    """Of that node, and its times from the beginning of the first window."""
    slowest = tuple(one.model_copy(update={"at_ns": one.at_ns + by_ns}) for one in device.slowest)
    target = device.target.model_copy(update={"node": node})
    return device.model_copy(update={"target": target, "slowest": slowest})


@contextmanager
def nodes_traced(stack: Stack, seconds: float, max_events: int) -> Iterator[TracingNodes]:
    """Connects to the scheduler of the stack; its machines record until their windows end, or the block does.

    Raises as `Cluster.connect`, where a node of a device has not joined, and where nothing can be traced.
    """
    assert stack.scheduler is not None
    kinds = (EndpointKind.FILE, EndpointKind.BLOCK)
    other = {layer.name for layer in stack.layers if layer.brought or layer.target.kind not in kinds}
    local = drop_layers(stack, other)
    with Cluster.connect(stack.scheduler, netns=stack.scheduler_netns) as cluster:
        nodes = TracingNodes(NodeGroup(cluster, local, "trace"), local)
        try:
            nodes.begin(seconds, max_events)
            yield nodes
        finally:
            nodes.close()
