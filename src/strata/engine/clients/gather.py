"""What is heard of the clients while they run, put together interval by interval: for who watches."""

from __future__ import annotations

from strata.model import histogram
from strata.model.clients.merge import summed
from strata.model.progress import ClientNow
from strata.model.result import Interval

LATE = 2
"""Intervals that the others are waited for: then the sum is told without those that are late."""


class Gatherer:
    """Intervals by client. Whole rows are given out once all clients that are still there have delivered theirs."""

    def __init__(self, nodes: dict[int, str]) -> None:
        self._nodes = nodes
        self.heard: dict[int, list[Interval]] = {client: [] for client in nodes}
        self.lost: dict[int, str] = {}
        self._done: set[int] = set()
        self._given = 0

    def add(self, client: int, interval: Interval) -> None:
        """One more of this client."""
        self.heard[client].append(interval)

    def end(self, client: int, lost: str | None = None) -> None:
        """Nothing more comes of it; ``lost``: why, where it did not end by itself."""
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
            self._given += 1
        return found

    def _due(self) -> bool:
        lengths = {c: len(own) for c, own in self.heard.items()}
        running = [n for c, n in lengths.items() if c not in self.lost and c not in self._done]
        most = max(lengths.values(), default=0)
        waits = min(running, default=most) <= self._given
        return most > self._given and (not waits or most > self._given + LATE)

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
            p99_ns=histogram.quantiles(times, [0.99])[0] if times else None,
            lost=lost,
        )
