"""The nodes of one run: each holds its part of it, and is asked for what is done there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from strata import __version__
from strata.app.driven.held import Held, carry, data_there, hold
from strata.app.driven.words import DataThere, NodeTask
from strata.errors import RunFailed, StrataError, UsageError
from strata.fleet import Call, Cluster, NodeLost
from strata.model.nodes import ClockOffset, Lost, NodeInfo
from strata.model.stack import Stack

HERE = ""
"""The name under which this process drives the layers that name no node."""
HELD_S, LONGEST_S, CALL_S = 60.0, 30 * 86_400.0, 86_400.0
"""For all nodes to begin, of a whole run, and of a call that measures nothing: a large file takes long to be filled,
and a node that is gone is noticed within seconds whatever it does."""
END_S, SAMPLED_S = 60.0, 5.0
"""For a node to remove what it made, and for one that is only sampled to begin once the others have."""
CLOCK_S = 60.0
"""A node's clock is read again after so long: clocks part by some parts in a million."""
_FIELDS_MOST = 3


@dataclass(frozen=True)
class NodeCall:
    """One call: a method of `Held` and what it is given."""

    method: str
    args: tuple[Any, ...] = ()
    named: Mapping[str, Any] | None = None


def node_call(method: str, *args: Any, **named: Any) -> NodeCall:
    """As it is written."""
    return NodeCall(method, args, named)


def raised(given: Any, node: str = HERE) -> Any:
    """The result of a call to ``node``. Raises what stands in its place, which says where it happened."""
    if isinstance(given, StrataError):
        if node != HERE and not isinstance(given, NodeLost):
            given.where = f"{given.where} on node {node}".strip()
            given.args = (given.headline,)
        raise given
    return given


class NodeGroup:
    """A connection to the scheduler of a stack, and the nodes of the stack that have joined it."""

    def __init__(self, cluster: Cluster, stack: Stack, does: Literal["drive", "watch", "trace"] = "drive") -> None:
        """Where its layers are not driven, a node that this machine can read need not have joined."""
        self.cluster, self.address, self._does = cluster, cluster.address, does
        watches = self._watches = does != "drive"
        joined = {node.name: node for node in cluster.nodes()}
        wanted = {layer.node for layer in stack.layers if layer.node is not None and not (watches and layer.brought)}
        if watches:
            # An exporter tells counters, and no requests.
            read = {n.name for n in stack.nodes if n.netns or (n.counters and does == "watch")}
            wanted -= read - set(joined)
        self._check(stack, wanted, joined)
        named = {node.name for node in stack.nodes}
        self.nodes: dict[str, NodeInfo] = {name: node for name, node in joined.items() if name in named | wanted}
        self._run = ""
        self._here: Held | None = None
        self._holding: threading.Thread | None = None
        self._held: set[str] = set()
        self._ended: dict[str, Any] = {}
        self.lost: set[str] = set()
        """Nodes that were heard of no more."""
        self._clocks: dict[str, tuple[float, ClockOffset]] = {}

    def data_there(self, node: str, path: str, load_seconds: float) -> DataThere:
        """As of `held`, on that node."""
        if node == HERE:
            return data_there(path, load_seconds)
        return self.cluster.ask(node, data_there, path, load_seconds, deadline_s=CALL_S)

    def begin(self, tasks: Mapping[str, NodeTask]) -> None:
        """Each node holds its part of the run from here to `end`. Raises `RunFailed` where one does not."""
        away = {name: Call.of(hold, task) for name, task in tasks.items() if name != HERE}
        self._run = next(iter(tasks.values())).run
        if HERE in tasks:
            self._here = Held(tasks[HERE])

        # What only watches must not keep a node from a run.
        carried = self.cluster.ask_all if self._watches else self.cluster.at_once

        def go() -> None:
            try:
                self._ended = carried(away, LONGEST_S, lambda node, _: self._held.add(node))
            except BaseException as e:  # whoever waits for the nodes hears of it
                self._ended = {name: Lost(node=name, why=str(e)) for name in away}

        self._holding = threading.Thread(target=go, name="strata-hold", daemon=True)
        self._holding.start()
        self._wait_for({name for name in away if tasks[name].stack is not None}, HELD_S)
        # Those that are only sampled cost their counters, and nobody's time.
        sampled = set(away) - self._held
        if sampled:
            self._wait_until(sampled, SAMPLED_S)
        self.lost |= set(away) - self._held

    def _wait_for(self, driving: set[str], seconds: float) -> None:
        if missing := self._wait_until(driving, seconds):
            lost = self._ended.get(missing[0])
            late = f"it did not start within {seconds:g} s: the node is busy"
            why = lost.why if isinstance(lost, Lost) else late
            raise RunFailed("cannot use node", ", ".join(missing), why, f"strata node list {self.address}")

    def _wait_until(self, held: set[str], seconds: float) -> list[str]:
        """Those of these nodes that do not hold the run by then."""
        until = time.monotonic() + seconds
        while not held <= self._held and time.monotonic() < until and self._holding is not None:
            if not self._holding.is_alive():
                break
            time.sleep(0.01)
        return sorted(held - self._held)

    def call(self, node: str, method: str, *args: Any, **named: Any) -> Any:
        """One call. Raises as `Cluster.ask`."""
        return raised(self.each({node: node_call(method, *args, **named)})[node], node)

    def each(
        self,
        calls: Mapping[str, NodeCall],
        deadline_s: float = CALL_S,
        hear: Callable[[dict[str, Any]], None] = lambda _: None,
        stop_requested: Callable[[], bool] = lambda: False,
    ) -> dict[str, Any]:
        """Together, and this process's own last. ``hear`` is told what they tell; when ``stop_requested``, the
        measurements of them all are stopped, once. What a call raised stands in the place of its result."""
        away = {node: one for node, one in calls.items() if node != HERE}
        asked = False

        def meanwhile() -> None:
            nonlocal asked
            if not asked and stop_requested():
                asked = True
                self.cluster.each({node: Call.of(carry, self._run, "stop", (), {}) for node in away})

        made = {n: Call.of(carry, self._run, one.method, one.args, dict(one.named or {})) for n, one in away.items()}
        found: dict[str, Any] = {}
        if made:
            found |= self.cluster.each(made, deadline_s, lambda _, message: hear(message), meanwhile)
            self.lost |= {node for node, given in found.items() if isinstance(given, NodeLost)}
        if HERE in calls:
            one, named = calls[HERE], dict(calls[HERE].named or {})
            if one.method == "measure":
                named["say"] = hear
            try:
                found[HERE] = self._own(stop_requested, one, named)
            except StrataError as e:
                found[HERE] = e
        return found

    def offset_ns(self, node: str) -> int:
        """How far the node's monotonic clock is ahead of ours; 0 for this process."""
        if node == HERE:
            return 0
        read_at, clock = self._clocks.get(node, (0.0, None))
        if clock is None or time.monotonic() - read_at > CLOCK_S:
            clock = self.cluster.clock(node)
            self._clocks[node] = time.monotonic(), clock
        return clock.offset_ns

    def end(self) -> list[str]:
        """The nodes remove what the run made; what could not be removed, in words. One that is lost is not asked: its
        measurements say so, and it removes what it made by itself."""
        calls = {name: Call.of(carry, self._run, "close", (), {}) for name in self._held - self.lost}
        given = self.cluster.each(calls, END_S) if calls else {}
        problems = [
            f"node {name}: {error.headline}"
            for name, error in given.items()
            if isinstance(error, StrataError) and not isinstance(error, NodeLost)
        ]
        self._held = set()
        here, self._here = self._here, None
        if here is not None:
            here.close()
        if self._holding is not None:
            # A lost node is still waited for there; closing the connection ends that.
            self._holding.join(END_S if not self.lost else 0.0)
        return problems

    def _own(self, stop_requested: Callable[[], bool], one: NodeCall, named: dict[str, Any]) -> Any:
        held = self._here
        assert held is not None, "begin comes first"
        held.wants(lambda: not stop_requested())
        return getattr(held, one.method)(*one.args, **named)

    def _check(self, stack: Stack, wanted: set[str], joined: Mapping[str, NodeInfo]) -> None:
        if missing := sorted(wanted - set(joined)):
            of = ", ".join(repr(layer.name) for layer in stack.layers if layer.node in missing[:_FIELDS_MOST])
            why = f"no node of that name has joined {self.address} (joined: {', '.join(sorted(joined)) or 'none'})"
            hint = f"on it: strata node join {self.address} --name {missing[0]}; or leave its layers out"
            hint = hint if self._watches else f"{hint}: --layers"
            raise RunFailed(f"cannot {self._does}", f"{of} from {', '.join(missing)}", why, hint)
        for name in wanted:
            if joined[name].version != __version__:
                why = f"it runs Strata {joined[name].version}, and this is {__version__}"
                raise UsageError("cannot use node", name, why, "install the same version everywhere")
