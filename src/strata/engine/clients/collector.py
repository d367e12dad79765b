"""What is heard of the clients while they run, put together interval by interval: for who watches."""

from __future__ import annotations

from collections.abc import Sequence

from strata.errors import ClientsLost, RunFailed
from strata.model import histogram
from strata.model.clients import pooled
from strata.model.clients.merge import summed
from strata.model.progress import ClientNow
from strata.model.result import ClientResult, EngineResult, Interval, LostClient

LATE = 2
"""Intervals that the others are waited for: then the sum is told without those that are late."""


class ClientCollector:
    """Intervals by client. Whole rows are given out once all clients that are still there have delivered theirs."""

    def __init__(self, nodes: dict[int, str]) -> None:
        self._nodes = nodes
        self.heard: dict[int, list[Interval]] = {client: [] for client in nodes}
        self.lost: dict[int, str] = {}
        self._done: set[int] = set()
        self._p99: dict[int, int | None] = {}
        self._of_node: dict[tuple[str, int], int] = {}
        """The p99 of a node, by the number of the row."""
        self._given = self._longest = 0
        self._missing = len(nodes)
        """Clients that run and have not delivered the row that is due."""

    def add(self, client: int, interval: Interval, p99_ns: int | None = None, node_p99_ns: int | None = None) -> None:
        """One more of this client; ``p99_ns`` where its histograms do not come with it, and that of all clients of its
        node where it was the last of them to be through with the interval."""
        own = self.heard[client]
        if node_p99_ns is not None:
            self._of_node[self._nodes[client], len(own)] = node_p99_ns
        own.append(interval)
        self._longest = max(self._longest, len(own))
        if len(own) == self._given + 1 and self._runs(client):
            self._missing -= 1
        self._p99[client] = p99_ns

    def end(self, client: int, lost: str | None = None) -> None:
        """Nothing more comes of it; ``lost``: why, where it did not end by itself."""
        if len(self.heard[client]) <= self._given and self._runs(client):
            self._missing -= 1
        if lost is None:
            self._done.add(client)
        else:
            self.lost[client] = lost

    def rows(self) -> list[Interval]:
        """The sums that are due now, in order."""
        found = []
        while self._due():
            row = {c: own[self._given] for c, own in self.heard.items() if len(own) > self._given}
            found.append(self._sum(row))
            self._of_node = {at: ns for at, ns in self._of_node.items() if at[1] > self._given}
            self._given += 1
            self._missing = sum(len(own) <= self._given and self._runs(c) for c, own in self.heard.items())
        return found

    def _runs(self, client: int) -> bool:
        return client not in self.lost and client not in self._done

    def _due(self) -> bool:
        return self._longest > self._given and (not self._missing or self._longest > self._given + LATE)

    def _sum(self, row: dict[int, Interval]) -> Interval:
        first = next(iter(row.values()))
        flushes = any(i.sync is not None for i in row.values())
        return Interval(
            start_ns=first.start_ns,
            end_ns=max(i.end_ns for i in row.values()),
            read=summed(i.read for i in row.values()),
            write=summed(i.write for i in row.values()),
            sync=summed(i.sync for i in row.values()) if flushes else None,
            clients=tuple(self._now(client, row.get(client)) for client in self._nodes),
        )

    def _now(self, client: int, done: Interval | None) -> ClientNow:
        node, lost = self._nodes[client], self.lost.get(client)
        if done is None:
            late = 0 if lost is not None or client in self._done else self._given + 1 - len(self.heard[client])
            return ClientNow(client=client, node=node, late=late, lost=lost)
        seconds = (done.end_ns - done.start_ns) / 1e9
        times = histogram.merge([done.read.service_time, done.write.service_time])
        return ClientNow(
            client=client,
            node=node,
            iops=(done.read.ops + done.write.ops) / seconds,
            bytes_per_second=(done.read.bytes + done.write.bytes) / seconds,
            p99_ns=histogram.quantiles(times, [0.99])[0] if times else self._p99.get(client),
            node_p99_ns=self._of_node.get((node, self._given)),
            lost=lost,
        )


def whole_of(
    done: Sequence[ClientResult], lost: Sequence[LostClient], where: str, *, there: bool = False
) -> EngineResult:
    """One result of the clients that gave theirs. Raises `ClientsLost` where none did (``there``: each of those that
    are lost has said why), `RunFailed` where they did not measure at the same time."""
    if not done:
        problems = tuple(f"client {one.client} on {one.node}: {one.why}" for one in lost)
        error = ClientsLost("no client measured", where, problems[0], problems=problems if len(problems) > 1 else ())
        error.there = there
        raise error
    whole = pooled(done, lost)
    if isinstance(whole, str):
        raise RunFailed("the clients did not measure together at", where, whole, "give a longer --runtime")
    return whole
