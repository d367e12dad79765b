"""client = wire + server: what the far end took of each I/O, and what is left for the way there and back.

The mean of a sum is the sum of the means, so the wire's mean time is the client's less the server's, round by round.
Percentiles do not add: the slowest I/Os of the client need not be those of the server. They are given side by side, and
their difference is only a difference. "Wire" is everything that is not counted at the far end: the client's own stack,
its queueing, both adapters, the way, and the time a request lies in the server's socket.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from strata import units
from strata.analyse.stats import estimate
from strata.model.ends import LatencySplit, PercentileSplit

FEWER = 0.98
"""Below this share of the client's requests the server's counters are of other requests too, or not of all."""


@dataclass(frozen=True)
class Ends:
    """One round: mean times in ns and I/Os per second at both ends, and percentiles ("50", "99") where known."""

    client_ns: float
    server_ns: float
    client_iops: float | None = None
    server_iops: float | None = None
    client: Mapping[str, float] = field(default_factory=dict)
    server: Mapping[str, float] = field(default_factory=dict)


def split(direction: str, server: str, rounds: Sequence[Ends]) -> LatencySplit | None:
    """The split over the rounds; None without any."""
    if not rounds:
        return None
    wire = [r.client_ns - r.server_ns for r in rounds]
    shared = [p for p in rounds[0].client if all(p in r.client and p in r.server for r in rounds)]
    made = LatencySplit(
        direction=direction,
        server=server,
        client_ns=estimate([r.client_ns for r in rounds], "ns"),
        server_ns=estimate([r.server_ns for r in rounds], "ns"),
        wire_ns=estimate(wire, "ns"),
        percentiles=tuple(_percentile(p, rounds) for p in sorted(shared, key=float)),
    )
    return made.model_copy(update={"notes": _notes(made, rounds)})


def _percentile(p: str, rounds: Sequence[Ends]) -> PercentileSplit:
    client, server = [r.client[p] for r in rounds], [r.server[p] for r in rounds]
    return PercentileSplit(
        percentile=p,
        client_ns=estimate(client, "ns"),
        server_ns=estimate(server, "ns"),
        difference_ns=estimate([c - s for c, s in zip(client, server, strict=True)], "ns"),
    )


def _notes(made: LatencySplit, rounds: Sequence[Ends]) -> tuple[str, ...]:
    notes = []
    wire = made.wire_ns
    if (wire.value if wire.high is None else wire.high) < 0:
        notes.append("the server took longer than the client waited: its counters include other requests")
    shares = [r.server_iops / r.client_iops for r in rounds if r.server_iops is not None and r.client_iops]
    if shares:
        share = sum(shares) / len(shares)
        if share < FEWER:
            notes.append(
                f"the server counted {units.percent(share, 2)} of the client's requests: the others were answered "
                "before it, or several were merged"
            )
        elif share > 1 / FEWER:
            notes.append(f"the server counted {share:.2f} requests for each of the client's: split, or not only these")
    return tuple(notes)
