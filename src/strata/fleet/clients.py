"""The clients of a workload on the nodes of a cluster: one on each, all started at one instant of their own clocks."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from strata import units
from strata.engine.clients import client_words, measure_client
from strata.engine.clients.gather import Gatherer, whole_of
from strata.engine.native import build_info
from strata.engine.port import OnInterval, Request
from strata.errors import UsageError
from strata.fleet.call import Call
from strata.fleet.cluster import Cluster
from strata.fleet.node import here
from strata.model import histogram
from strata.model.endpoint import CLUSTER, Endpoint
from strata.model.nodes import ClockOffset, Lost
from strata.model.plan import Segment
from strata.model.result import ClientResult, EngineResult, Interval, LostClient
from strata.model.workload import Workload

LEAD_S, LEAD_EACH_S, ROUNDS = 0.3, 0.02, 2.0
"""From the reading of the clocks to the start: opening the target on so many nodes, and so often as long as a round of
calls to all of them just took."""
LOADED_S = 60.0
"""How long nodes may take to load what a client needs."""
BEYOND_S = 45.0
"""A client that has not answered so long after its end is lost; what is in flight is waited for 30 s."""


class _Stopped:
    """Runs that are to end, in a node's process."""

    runs: set[str] = set()
    lock = threading.Lock()


def measure_here(words: dict[str, Any]) -> dict[str, Any]:
    """A client on the node that carries out this call: `measure_client` as long as the node's scheduler is there and
    somebody waits for the result."""
    state, run = here(), str(words["run"])

    def ended() -> bool:
        return run in _Stopped.runs or state.cancelled() or not state.scheduler_alive()

    try:
        return measure_client(words, lambda told: _tell(state.tell, told), lambda: not ended(), ended)
    finally:
        with _Stopped.lock:
            _Stopped.runs.discard(run)


def ready_here() -> bool:
    """Nothing; but what a client needs is loaded on the node from then on."""
    return True


def end_here(run: str) -> None:
    """The client of that run on this node ends with what it has."""
    with _Stopped.lock:
        _Stopped.runs.add(run)


def _tell(send: Callable[[dict[str, Any]], bool], told: dict[str, Any]) -> None:
    """An interval without its histograms, which are in the result: messages are small."""
    sides = [side for name in ("read", "write", "sync") if (side := told.get(name)) is not None]
    times = histogram.merge(side["service_time"] for side in sides[:2])
    p99 = histogram.quantiles(times, [0.99])[0] if times else None
    for side in sides:
        side["service_time"] = None
    send({"interval": told, "p99_ns": p99})


class NodesEngine:
    """Strata's own engine on the nodes of a cluster, behind the port of all engines."""

    name = "native"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._loaded: set[str] = set()

    def identity(self) -> dict[str, Any]:
        """The build here; a node of another version takes no part."""
        return {"name": self.name, **build_info()}

    def refusals(self, endpoint: Endpoint, workload: Workload, segments: Sequence[Segment] = ()) -> list[str]:
        """What it cannot reach, and more clients than there are nodes."""
        if endpoint.kind in CLUSTER:
            return [f"it does not support {endpoint.kind.value} on nodes"]
        there = len(self._cluster.nodes())
        if workload.clients > there:
            return [f"{workload.clients} clients need as many nodes, and {there} have joined {self._cluster.address}"]
        return []

    def run(
        self,
        request: Request,
        on_interval: OnInterval | None = None,
        stop_requested: Callable[[], bool] = lambda: False,
    ) -> EngineResult:
        """As the port has it."""
        where = request.endpoint.uri
        if refused := self.refusals(request.endpoint, request.workload):
            raise UsageError("cannot measure on nodes", where, "; ".join(refused), "strata node join")
        told, run = client_words(request), uuid.uuid4().hex
        nodes = [node.name for node in self._cluster.nodes()][: len(told)]
        lead_s = LEAD_S + LEAD_EACH_S * len(nodes) + ROUNDS * self._round_s(nodes)
        clocks = {node: self._cluster.clock(node) for node in nodes}
        start_ns = time.monotonic_ns() + round(lead_s * units.NS_PER_S)
        for node, words in zip(nodes, told, strict=True):
            words |= {"node": node, "run": run, "start_at_ns": clocks[node].there(start_ns)}
            # A descriptor is of this process: a node opens by name, and checks by the mark.
            for aim in [words["job"]] if "target" in words["job"] else words["job"]["targets"]:
                if "fd" in aim["target"]:
                    aim["target"]["fd"] = None
        gatherer, numbers = Gatherer(dict(enumerate(nodes))), {node: n for n, node in enumerate(nodes)}
        asked = False

        def heard(node: str, message: dict[str, Any]) -> None:
            nonlocal asked
            gatherer.add(numbers[node], Interval.model_validate(message["interval"]), message["p99_ns"])
            for row in gatherer.rows():
                if on_interval is not None:
                    on_interval(row)
            if not asked and stop_requested():
                asked = True
                for one in nodes:
                    self._cluster.ask(one, end_here, run)

        calls = {node: Call.of(measure_here, words) for node, words in zip(nodes, told, strict=True)}
        timing = request.timing
        answers = self._cluster.at_once(calls, lead_s + timing.ramp_s + timing.runtime_s + BEYOND_S, heard)
        from_ns = start_ns + round(timing.ramp_s * units.NS_PER_S)
        done, lost = _sorted(answers, numbers, clocks, gatherer, from_ns)
        whole = whole_of(done, lost, where)
        return whole.model_copy(update={"engine": {"name": self.name, **whole.engine}})

    def _round_s(self, nodes: Sequence[str]) -> float:
        """How long a call to all of them takes, once each has loaded what it needs."""
        calls = {node: Call.of(ready_here) for node in nodes}
        if not self._loaded.issuperset(nodes):
            self._cluster.at_once(calls, LOADED_S)
            self._loaded |= set(nodes)
        began = time.monotonic()
        self._cluster.at_once(calls, LOADED_S)
        return time.monotonic() - began


def _sorted(
    answers: dict[str, dict[str, Any] | Lost],
    numbers: dict[str, int],
    clocks: dict[str, ClockOffset],
    gatherer: Gatherer,
    from_ns: int,
) -> tuple[list[ClientResult], list[LostClient]]:
    """Results, and what is known of those that gave none."""
    done, lost = [], []
    for node, number in numbers.items():
        answer, clock = answers[node], clocks[node]
        of: dict[str, Any] = {"client": number, "node": node, "offset_ns": clock.offset_ns, "bound_ns": clock.bound_ns}
        if isinstance(answer, Lost):
            heard = tuple(gatherer.heard[number])
            lost.append(LostClient(**of, why=answer.why, measured_from_ns=clock.there(from_ns), intervals=heard))
        else:
            done.append(ClientResult(**of, result=EngineResult.model_validate_json(json.dumps(answer))))
    return done, lost
