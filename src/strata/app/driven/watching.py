"""The nodes of a stack while its load is watched: each samples what is below its own layers, and issues no I/O.

What they count is taken from them while it goes on, so that a node holds little, and one that is lost costs what it
would have counted from then on. It comes on this machine's clock, under the name of its node.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from strata import units
from strata.app.driven.group import HERE, NodeCall, NodeGroup, node_call, raised
from strata.app.driven.held import boot_id, reached_there
from strata.app.driven.scopes import shifted
from strata.app.driven.tracing import TracingNodes
from strata.app.driven.words import ArrivedThere, NodeTask, ReachedThere, SampledThere
from strata.app.sampling_scope import SamplingScope, joined, over_smb, ports_of
from strata.discover.chain import Under
from strata.errors import StrataError
from strata.fleet import Call, Cluster
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.resources import place
from strata.model.series import Series, SeriesKind
from strata.model.stack import Node, Stack
from strata.model.watch import Arrival, Issuer
from strata.probes import ProbedNode

TAKE_S, TAKE_SAMPLES, ASK_S = 2.0, 5, 30.0
"""What a node has counted is taken as often as this, and not before it has so many samples; for how long an answer is
waited for: a node that stands still is named after 10 to 12 s by its scheduler."""


@dataclass
class Grown:
    """One series as it came from a node, in parts."""

    last: Series
    raw_ns: int
    added: float = 0.0
    t_ns: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    left: int = 0
    """Samples that were taken before."""

    def grow(self, part: Series, by_ns: int) -> None:
        """The next part, which begins with the last sample of the one before; ``by_ns`` puts it on our clock.

        It may be empty: the device came and went between two samples.
        """
        if not part.t_ns:
            return
        if part.t_ns[0] == self.raw_ns and self.values and part.kind is SeriesKind.COUNTER:
            # Where the kernel's counter has begun again within a part, the next one does not know of it.
            self.added = self.values[-1] - part.values[0]
        for at, value in zip(part.t_ns, part.values, strict=True):
            if at > self.raw_ns or not self.values:
                self.t_ns.append(at + by_ns)
                self.values.append(value + self.added)
        self.last, self.raw_ns = part, part.t_ns[-1]

    @property
    def grew(self) -> bool:
        """Whether anything came since it was taken before."""
        return len(self.t_ns) > self.left

    def taken(self) -> Series | None:
        """What came since it was taken before; its last sample stays. None without any."""
        if not self.t_ns:
            return None
        self.left = 1
        made = self.last.model_copy(update={"t_ns": tuple(self.t_ns), "values": tuple(self.values)})
        del self.t_ns[:-1], self.values[:-1]
        return made


Key = tuple[str, tuple[tuple[str, str], ...]]


class WatchedNodes:
    """The nodes of one watching; `watched_nodes` opens it. Its threads end with it."""

    def __init__(self, group: NodeGroup, stack: Stack) -> None:
        self._group, self._stack = group, stack
        self._layers = tuple(layer for layer in stack.layers if not layer.brought)
        self._there: dict[str, ReachedThere] = {}
        self._readers: dict[str, str] = {}
        self._absent: dict[str, None] = {}
        self._lost: dict[str, str] = {}
        self._asked: set[str] = set()
        self._series: dict[Key, Grown] = {}
        self._taking, self._stop = threading.Lock(), threading.Event()
        self._began, self._take_s = time.monotonic(), TAKE_S
        # As of the sampler here: the wall clock may be set while it goes on.
        self._epoch_ns = time.time_ns() - time.monotonic_ns()
        self._heard: dict[str, float] = {}
        self._traced: dict[str, int] = {}
        self._thread: threading.Thread | None = None

    # --- what is where

    @property
    def layers(self) -> frozenset[str]:
        """The layers that nodes sample."""
        return frozenset(layer.name for layer in self._layers if layer.node in self._group.nodes)

    @property
    def unjoined(self) -> tuple[Node, ...]:
        """The nodes of the stack that this machine reads, where it can."""
        return tuple(node for node in self._stack.nodes if node.name not in self._group.nodes)

    @property
    def own(self) -> dict[str, tuple[str | None, Under]]:
        """By layer under which name its machine is sampled (None: this one), and the devices below it there."""
        return {
            name: (self._readers[node] or None, under)
            for node, there in self._there.items()
            for name, under in there.under.items()
        }

    @property
    def devices_here(self) -> tuple[str, ...]:
        """Below layers of nodes that are on this machine: it has one set of devices, whoever reads them."""
        return joined(under for node, under in self.own.values() if node is None).devices

    @property
    def here(self) -> bool:
        """Whether a node is on this machine."""
        return HERE in self._readers.values()

    @property
    def starts(self) -> dict[str, int]:
        """As of `sampling_scope.starts_of`, by the name that a device has in what is said of it."""
        return {
            place(name, self._readers[node] or None): at
            for node, there in self._there.items()
            for name, at in there.starts.items()
        }

    @property
    def speeds(self) -> dict[str, float]:
        """As of `sampling_scope.speeds_of_cards`, by the name that a card has in what is said of it: each node
        reads its own network, also where its machine is read by another."""
        return {place(name, node): speed for node, there in self._there.items() for name, speed in there.speeds.items()}

    @property
    def lost(self) -> tuple[str, ...]:
        """The nodes that are sampled no more: since when, why, and whose layers."""
        return tuple(self._lost.values())

    @property
    def absent(self) -> tuple[str, ...]:
        """What was not seen, and why."""
        return (*self._absent, *self.lost)

    # --- sampling

    def begin(self, interval_s: float, left_out: Collection[str], look_s: float) -> None:
        """Asks what is where, and has each node sample it from now on."""
        self._take_s = max(TAKE_S, TAKE_SAMPLES * interval_s)
        self._look()
        if not self._there:
            return
        task = NodeTask(uuid.uuid4().hex, None, "", "native", direct=False, writes=False, watches=True)
        self._group.begin(dict.fromkeys(self._there, task))
        for name in sorted(self._group.lost & set(self._there)):
            self._lose(name, "it did not start to sample: the node is busy or disconnected")
        calls = {}
        for name in sorted(set(self._there) - set(self._lost)):
            whole = self._readers[name] == name
            scope = self._scope(name, whole=whole)
            calls[name] = node_call(
                "begin_samples", scope, interval_s,
                whole=whole, left_out=frozenset(left_out), look_s=look_s if whole else None,
            )  # fmt: skip
        self._asked = set(calls)
        for name, given in self._group.each(calls, ASK_S).items():
            if isinstance(given, StrataError):
                self._lose(name, given.headline)
        self._thread = threading.Thread(target=self._go, name="strata-watch-nodes", daemon=True)
        self._thread.start()

    def begin_arrivals(self) -> None:
        """Short traces of the devices of other machines, where one of their nodes may trace; nothing of this one."""
        kinds = (EndpointKind.FILE, EndpointKind.BLOCK)
        away = tuple(
            x for x in self._layers if x.target.kind in kinds and self._readers.get(x.node or "", HERE) != HERE
        )
        if not away:
            return
        tracing = TracingNodes(self._group, self._stack.model_copy(update={"layers": away}))
        try:
            chosen = tracing.look()
        except StrataError as e:
            chosen = {}
            self._absent |= {} if tracing.absent else {f"traces: {e.headline}": None}
        self._absent |= dict.fromkeys(f"traces: {why}" for why in tracing.absent)
        calls = {n: node_call("begin_arrivals", t) for n, t in chosen.items() if n in self._asked - set(self._lost)}
        for name, given in self._each(calls).items():
            if isinstance(given, StrataError):
                self._absent[f"traces: {name}: {given.headline}"] = None
            else:
                self._traced[name] = given

    def end_arrivals(self, began: float) -> tuple[Arrival, ...]:
        """What they saw, since ``began`` of our monotonic clock."""
        found: list[Arrival] = []
        calls = {name: node_call("end_arrivals") for name in self._traced if name not in self._lost}
        for name, given in self._each(calls).items():
            try:
                there: ArrivedThere = raised(given)
                ours = (self._traced[name] - self._group.offset_ns(name)) / units.NS_PER_S - began
            except StrataError as e:
                self._absent[f"traces: {name}: {e.headline}"] = None
                continue
            if there.absent is not None:
                self._absent[f"traces: {name}: {there.absent}"] = None
            for one in there.arrivals:
                at = round(one.from_s + ours, 3)
                kept = None if one.requests is None else one.requests.model_copy(update={"from_s": at})
                # By the name under which its machine is sampled, as the device's counters.
                found.append(one.model_copy(update={"from_s": at, "requests": kept, "node": self._readers[name]}))
        return tuple(found)

    def take(self) -> tuple[tuple[Series, ...], tuple[Issuer, ...]]:
        """What was counted, and who issued I/O on other machines, since the last call."""
        with self._taking:
            return self._handed(self._take(node_call("take_samples", issuers=True)))

    def stop(self) -> tuple[tuple[Series, ...], tuple[Issuer, ...]]:
        """The rest of it: the nodes sample no more."""
        self._stop.set()
        with self._taking:
            return self._handed(self._take(node_call("end_samples")))

    def close(self) -> None:
        """Ends it on every node that is there."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(ASK_S)
        self._group.end()

    def _go(self) -> None:
        while not self._stop.wait(self._take_s):
            with self._taking:
                if not self._stop.is_set():
                    self._take(node_call("take_samples", issuers=False))

    def _take(self, call: Any) -> tuple[Issuer, ...]:
        """Who issued. Of a node that does not answer, what it had counted before stays."""
        found: list[Issuer] = []
        asked = sorted(self._asked - set(self._lost))
        for name, given in self._each(dict.fromkeys(asked, call)).items():
            try:
                sampled: SampledThere = raised(given)
                by_ns = self._epoch_ns - sampled.epoch_ns - self._group.offset_ns(name)
            except StrataError as e:
                self._lose(name, e.headline)
                continue
            self._heard[name] = time.monotonic()
            self._absent |= dict.fromkeys(f"{name}: {why}" for why in sampled.absent)
            # Its times stay as they came: what is on our clock is told apart by them.
            for one in shifted(sampled.series, 0, name):
                key = one.metric, tuple(sorted(one.labels.items()))
                grown = self._series.setdefault(key, Grown(one, 0))
                grown.grow(one, by_ns)
            found += [one.model_copy(update={"node": name}) for one in sampled.issuers]
        return tuple(found)

    def _each(self, calls: dict[str, NodeCall]) -> dict[str, Any]:
        try:
            return self._group.each(calls, ASK_S) if calls else {}
        except StrataError as e:
            # Their scheduler is gone, and they are with it.
            return dict.fromkeys(calls, e)

    def _handed(self, issuers: tuple[Issuer, ...]) -> tuple[tuple[Series, ...], tuple[Issuer, ...]]:
        # Connections, cards and processes come and go: what has gone would be held, and told, for ever. Its parts
        # overlap, so one that only stood still begins again where it was.
        self._series = {key: grown for key, grown in self._series.items() if grown.grew}
        return tuple(one for grown in self._series.values() if (one := grown.taken()) is not None), issuers

    # --- inside

    def _look(self) -> None:
        # Without what only a client needs: passwords do not travel.
        of = {name: {x.name: x.endpoint for x in self._layers if x.node == name} for name in self._group.nodes}
        calls = {name: Call.of(reached_there, ends) for name, ends in of.items()}
        boots = {boot_id(): HERE}
        for name, given in self._group.cluster.each(calls, ASK_S).items():
            if isinstance(given, StrataError):
                self._lose(name, given.headline)
                continue
            self._there[name] = given
            # Two nodes of one machine: its CPUs and its devices are read by the first of them.
            self._readers[name] = boots.setdefault(given.boot, name)
            self._absent |= dict.fromkeys(f"{name}: {why}" for why in given.absent)

    def _scope(self, name: str, *, whole: bool) -> SamplingScope:
        """Of the node: its network and its processes; ``whole``: and of its machine."""
        mine = [layer for layer in self._layers if layer.node == name]
        ends = {layer.name: layer.target for layer in self._layers}
        known = next((n for n in self._stack.nodes if n.name == name), Node(name=name))
        smb = any(over_smb(self._stack, ends, layer.name) for layer in mine)
        probed = ProbedNode(name=name, ports=ports_of(ends.values()), smb_conf=known.smb_conf if smb else None)
        if not whole:
            return SamplingScope(nodes=(probed,))
        alike: set[str | None] = {other for other, reader in self._readers.items() if reader == name}
        devices = joined(u for n, there in self._there.items() if n in alike for u in there.under.values()).devices
        return SamplingScope(devices=devices, paths=self._paths(alike), nodes=(probed,))

    def _paths(self, nodes: Collection[str | None]) -> tuple[str, ...]:
        of: list[Endpoint] = [layer.target for layer in self._layers if layer.node in nodes]
        return tuple(dict.fromkeys(e.path for e in of if e.kind is EndpointKind.FILE and e.path))

    def _lose(self, name: str, why: str) -> None:
        layers = ", ".join(layer.name for layer in self._layers if layer.node == name)
        # Not when that was noticed: a node that stands still is missed later.
        seen_s = self._heard.get(name, self._began) - self._began
        since = f" after {units.duration(seen_s * units.NS_PER_S)}" if name in self._heard else ""
        self._lost.setdefault(name, f"{name}{layers and f' ({layers})'}{since}: {why}")
        self._group.lost.add(name)


@contextmanager
def watched_nodes(stack: Stack, interval_s: float, left_out: Collection[str], look_s: float) -> Iterator[WatchedNodes]:
    """Connects to the scheduler of the stack; its nodes sample until the block ends.

    Raises as `Cluster.connect`, and where a node that only samples itself has not joined.
    """
    assert stack.scheduler is not None
    with Cluster.connect(stack.scheduler, netns=stack.scheduler_netns) as cluster:
        watched = WatchedNodes(NodeGroup(cluster, stack, "watch"), stack)
        try:
            watched.begin(interval_s, left_out, look_s)
            yield watched
        finally:
            watched.close()
