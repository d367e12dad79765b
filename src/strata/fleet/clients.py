"""The clients of a workload on the nodes of a cluster, all started at one instant of their own clocks.

Each node that there is when the engine is made has as many clients as any other, up to one.
"""

from __future__ import annotations

import json
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from strata import units
from strata.engine.cell import sum_of
from strata.engine.clients import client_words
from strata.engine.clients.collector import ClientCollector, whole_of
from strata.engine.native import build_info
from strata.engine.port import OnInterval, Request
from strata.errors import ClientsLost, RunFailed, StrataError, UsageError
from strata.fleet.call import Call
from strata.fleet.clients_here import end_here, measure_here, prepare_here, ready_here
from strata.fleet.cluster import Cluster
from strata.model.caching import Residency
from strata.model.endpoint import CLUSTER, Endpoint, EndpointKind
from strata.model.nodes import ClockOffset, Lost
from strata.model.plan import Segment
from strata.model.result import ClientResult, EngineResult, Interval, LostClient
from strata.model.workload import Cache, Workload

LEAD_S, LEAD_EACH_S, ROUNDS = 0.3, 0.02, 2.0
"""From the reading of the clocks to the start: opening the target for each client of the host that has most of them,
and so often as long as a round of calls to all nodes just took."""
LOADED_S = 60.0
"""How long nodes may take to load what a client needs."""
PREPARED_S = 600.0
"""How long nodes may take to read a file through, so that it is in their page caches."""
BEYOND_S = 45.0
"""A client that has not answered so long after its end is lost; what is in flight is waited for 30 s."""
TOLD_PER_S, TELL_LEAST_S = 300.0, 0.2
"""Messages of all nodes in a second, so that a thousand of them do not flood a scheduler; and how seldom a node tells
at least."""


class NodesEngine:
    """Strata's own engine on the nodes of a cluster, behind the port of all engines."""

    name = "native"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        there = cluster.nodes()
        self._nodes = tuple(node.name for node in there)
        self._hosts = {node.name: node.host for node in there}
        self._loaded = False
        self._stored: list[str] = []
        self.unkept: dict[str, str] = {}
        self.pages: tuple[Residency | None, Residency | None, str | None] = (None, None, None)

    def identity(self) -> dict[str, Any]:
        """The build here, the scheduler, and how many nodes there were."""
        return {"name": self.name, **build_info(), "scheduler": self._cluster.address, "nodes": len(self._nodes)}

    def refusals(self, endpoint: Endpoint, workload: Workload, segments: Sequence[Segment] = ()) -> list[str]:
        """What it cannot reach, and what nobody is there for."""
        if endpoint.kind in CLUSTER:
            return [f"it does not support {endpoint.kind.value} on nodes"]
        if not self._nodes:
            return [f"no node has joined {self._cluster.address}"]
        if endpoint.kind is EndpointKind.BLOCK and workload.cache is Cache.WARM:
            return ["a node does not hold a block device open, and its pages are forgotten: no warm page cache"]
        return []

    def stored(self, kept_as: str) -> None:
        """The nodes are told with the next call; see `close`."""
        self._stored.append(kept_as)

    def close(self) -> None:
        """Tells the nodes what was stored. They keep the newest results alone, so nothing grows where this fails."""
        with suppress(StrataError):
            if self._stored:
                self._cluster.ask_all({node: Call.of(ready_here, None, self._stored) for node in self._nodes}, 5.0)

    def run(
        self,
        request: Request,
        on_interval: OnInterval | None = None,
        stop_requested: Callable[[], bool] = lambda: False,
    ) -> EngineResult:
        """As the port has it; `ClientsLost` where a node is gone before the start, or none gives a result."""
        where = request.endpoint.uri
        if refused := self.refusals(request.endpoint, request.workload):
            raise UsageError("cannot measure on nodes", where, "; ".join(refused), "strata node join")
        words, run = client_words(request), uuid.uuid4().hex
        for one in words:
            _by_name(one)
        self.pages = (None, None, None)
        nodes = self._nodes[: len(words)]
        numbers = {node: range(at, len(words), len(nodes)) for at, node in enumerate(nodes)}
        try:
            round_s, kept = self._round(nodes, request.kept_as, where)
            if (known := _of_kept(kept, len(words))) is not None:
                # Where they had not measured together, they do it again.
                with suppress(RunFailed):
                    return self._whole(known, [], where)
            self._prepare({node: [words[n] for n in numbers[node]] for node in nodes}, request.workload, where)
            clocks = self._cluster.clocks(nodes)
        except ClientsLost:
            raise
        except RunFailed as e:
            raise ClientsLost("cannot measure on nodes", where, e.headline, e.hint) from e
        crowd = Counter(self._hosts[node] for node in nodes for _ in numbers[node])
        lead_s = LEAD_S + LEAD_EACH_S * max(crowd.values()) + ROUNDS * round_s
        start_ns = time.monotonic_ns() + round(lead_s * units.NS_PER_S)
        calls = {}
        for node in nodes:
            own = [words[number] for number in numbers[node]]
            for one in own:
                _there(one, node, clocks[node], start_ns)
            told = {
                "run": run, "clients": own, "kept_as": request.kept_as,
                "tell_every_s": max(TELL_LEAST_S, len(nodes) / TOLD_PER_S),
            }  # fmt: skip
            calls[node] = Call.of(measure_here, told)
        of = {number: node for node in nodes for number in numbers[node]}
        collector = ClientCollector(dict(sorted(of.items())))
        asked = False

        def heard(_: str, message: dict[str, Any]) -> None:
            nonlocal asked
            for one in message["intervals"]:
                interval = Interval.model_validate(one["interval"])
                collector.add(one["client"], interval, one["p99_ns"], one.get("node_p99_ns"))
            for row in collector.rows():
                if on_interval is not None:
                    on_interval(row)
            if not asked and stop_requested():
                asked = True
                self._cluster.ask_all({node: Call.of(end_here, run) for node in nodes})

        timing = request.timing
        answers = self._cluster.at_once(calls, lead_s + timing.ramp_s + timing.runtime_s + BEYOND_S, heard)
        from_ns = start_ns + round(timing.ramp_s * units.NS_PER_S)
        found = self._sorted(answers, numbers, clocks, collector, from_ns)
        there = not any(isinstance(answer, Lost) for answer in answers.values())
        try:
            return self._whole(*found, where, there=there)
        except RunFailed as e:
            if request.kept_as is not None and not isinstance(e, ClientsLost):
                # There is no result of them all, so nobody will store it.
                self.stored(request.kept_as)
            raise

    def _whole(
        self, done: Sequence[ClientResult], lost: Sequence[LostClient], where: str, *, there: bool = False
    ) -> EngineResult:
        whole = whole_of(done, lost, where, there=there)
        return whole.model_copy(update={"engine": {"name": self.name, **whole.engine}})

    def _round(self, nodes: Sequence[str], kept_as: str | None, where: str) -> tuple[float, list[dict[str, Any]]]:
        """How long a call to all of them takes, once each has loaded what it needs; and what they kept of that name."""
        told, self._stored = self._stored, []
        calls = {node: Call.of(ready_here, kept_as, told) for node in nodes}
        for _ in range(1 if self._loaded else 2):
            began = time.monotonic()
            given = self._cluster.ask_all(calls, LOADED_S)
            took_s = time.monotonic() - began
            if gone := [one for one in given.values() if isinstance(one, Lost)]:
                names = tuple(f"{one.node}: {one.why}" for one in gone)
                why, hint = names[0], f"strata node join {self._cluster.address} --name {gone[0].node}"
                raise ClientsLost("cannot measure on nodes", where, why, hint, problems=names if len(names) > 1 else ())
        self._loaded = True
        return took_s, [one for one in given.values() if isinstance(one, dict)]

    def _prepare(self, words: Mapping[str, Sequence[dict[str, Any]]], workload: Workload, where: str) -> None:
        """The page caches of the nodes, where the workload says how they are to be. Raises `RunFailed`."""
        if workload.cache is Cache.AS_FOUND:
            return
        calls = {node: Call.of(prepare_here, own, workload.cache.value) for node, own in words.items()}
        given = self._cluster.ask_all(calls, PREPARED_S)
        if failed := [one for one in given.values() if isinstance(one, Lost)]:
            problems = tuple(f"{one.node}: {one.why}" for one in failed)
            raise RunFailed("cannot prepare the page cache for", where, problems[0], problems=problems[1:])

    def _sorted(
        self,
        answers: Mapping[str, dict[str, Any] | Lost],
        numbers: Mapping[str, range],
        clocks: Mapping[str, ClockOffset],
        collector: ClientCollector,
        from_ns: int,
    ) -> tuple[list[ClientResult], list[LostClient]]:
        """Results, and what is known of the clients that gave none."""
        done, lost = [], []
        seen = [answer["pages"] for answer in answers.values() if not isinstance(answer, Lost)]
        self.pages = _together(seen)
        for node, answer in answers.items():
            clock = clocks[node]
            why = dict.fromkeys(numbers[node], answer.why) if isinstance(answer, Lost) else {}
            for one in () if isinstance(answer, Lost) else answer["clients"]:
                if "result" in one:
                    done.append(_result(node, one))
                else:
                    why[one["client"]] = one["why"]
            if not isinstance(answer, Lost) and answer.get("unkept"):
                self.unkept[node] = answer["unkept"]
            lost += [
                LostClient(
                    client=number, node=node, offset_ns=clock.offset_ns, bound_ns=clock.bound_ns, why=said,
                    measured_from_ns=clock.there(from_ns), intervals=tuple(collector.heard[number]),
                )
                for number, said in why.items()
            ]  # fmt: skip
        return sorted(done, key=lambda one: one.client), sorted(lost, key=lambda one: one.client)


def _there(words: dict[str, Any], node: str, clock: ClockOffset, start_ns: int) -> None:
    """The words of one client as its node understands them."""
    words |= {
        "node": node, "start_at_ns": clock.there(start_ns), "offset_ns": clock.offset_ns, "bound_ns": clock.bound_ns,
    }  # fmt: skip


def _by_name(words: dict[str, Any]) -> None:
    """A descriptor is of this process: a node opens by name, and checks by the mark."""
    for aim in [words["job"]] if "target" in words["job"] else words["job"]["targets"]:
        if "fd" in aim["target"]:
            aim["target"]["fd"] = None


def _result(node: str, told: Mapping[str, Any]) -> ClientResult:
    return ClientResult(
        client=told["client"], node=node, offset_ns=told["offset_ns"], bound_ns=told["bound_ns"],
        result=EngineResult.model_validate_json(json.dumps(told["result"])),
    )  # fmt: skip


def _together(
    seen: Sequence[tuple[Residency | None, Residency | None, str | None]],
) -> tuple[Residency | None, Residency | None, str | None]:
    """Pages of all nodes; each has a page cache of its own."""
    unknown = next((why for _, _, why in seen if why is not None), None)
    before = [pages for pages, _, _ in seen if pages is not None]
    after = [pages for _, pages, _ in seen if pages is not None]
    return sum_of(before) if before else None, sum_of(after) if after else None, unknown


def _of_kept(kept: Sequence[Mapping[str, Any]], clients: int) -> list[ClientResult] | None:
    """Of what the nodes kept under the measurement's name; None where a client's is missing, or is of another time
    under the same name: a node that was away when it was measured anew still has its own of before."""
    if len({str(node.get("run")) for node in kept}) > 1:
        return None
    found: list[ClientResult] = []
    try:
        for one in (client for node in kept for client in node["clients"]):
            found.append(_result(str(one["node"]), one))
    except (KeyError, TypeError, ValueError):
        return None
    found.sort(key=lambda one: one.client)
    return found if [one.client for one in found] == list(range(clients)) else None
