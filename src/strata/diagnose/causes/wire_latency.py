"""The wire's latency.

What it claims
    Every request of this layer takes one round trip longer; depth hides it, nothing is used up.
Why it matters
    Shallow workloads (databases, logs) pay it in full. Bandwidth and faster disks do not help; nearness and depth do.
Evidence it needs
    Differential: one constant time added per request explains the loss at all depths. Operational: round trips of the
    handshake, which touch no data, take at least half of that time (`Remote.min_rtt_ns`).
What rules it out
    No constant added time; a round trip far below the added time (then the layer itself spends it).
What to do next
    Shorten the path, or ask for more at a time.
How sure
    By the part of the loss explained, the distance to other shapes, and the handshake's share of the added time.
Example
    8 KiB reads take 7.0 ms instead of 2.0 ms at depth 1 and depth 8, at depth 32 nothing is lost; the handshake's
    round trip is 5.0 ms.
Source
    Talpey, SMB3 application workload performance (SNIA Storage Developer Conference): latency = wire + server; Little
    1961.
"""

from __future__ import annotations

from strata import units
from strata.diagnose import experiment, observe
from strata.diagnose.case import Pair
from strata.diagnose.models import Shape
from strata.diagnose.opinion import Opinion
from strata.model.finding import Cause, Evidence, EvidenceKind

CAUSE = Cause.WIRE_LATENCY
PRECEDENCE = 70
LEAST_SHARE = 0.5


def judge_pair(pair: Pair) -> Opinion:
    """See the module."""
    view, found = pair.view, pair.shape(Shape.DELAY)
    slow = view.affected
    if not view.wired:
        return Opinion(CAUSE, False, "this layer has no wire")
    added = units.duration(found.parameter * 1e9)
    fits = pair.best is found and pair.acceptable(found)
    if view.rtt is None:
        if not fits:
            return Opinion(CAUSE, False, observe.refuted(pair, Shape.DELAY))
        return Opinion(
            CAUSE, None, "its round trip was not probed", missing=("the round trip of the layer's handshake",)
        )
    trip = units.duration(view.rtt * 1e9)
    if view.rtt < LEAST_SHARE * found.parameter:
        longer = f"its round trip is only {trip} longer than that of {view.below.name}"
        why = longer + (f", and each request gains {added}" if fits else "")
        return Opinion(CAUSE, False, why if fits else f"{why}; {observe.refuted(pair, Shape.DELAY)}")
    if not fits:
        return Opinion(CAUSE, False, observe.refuted(pair, Shape.DELAY))
    return Opinion(
        cause=CAUSE,
        holds=True,
        model=found,
        because="",
        title=f"each request waits {added} for the wire",
        explanation=f"Requests take {added} longer at every depth, and {trip} of it is the round trip of the "
        "handshake, which touches no data. Deep queues hide it, shallow ones pay it in full.",
        next_step="Ask for more at a time (depth, larger blocks, read-ahead) or shorten the path; "
        "a faster disk would not be felt.",
        cells=found.binding | {p.key for p in slow if abs(found.residual[p.key]) <= 2.5},
        strength=found.explained,
        lead=pair.lead(Shape.DELAY, Shape.SERIAL),
        evidence=(
            observe.slower(view),
            Evidence(
                kind=EvidenceKind.DIFFERENTIAL,
                statement=f"one constant {added} per request explains {units.percent(found.explained, 2)} of the loss",
                cells=observe.cells(view, slow),
            ),
            Evidence(
                kind=EvidenceKind.OPERATIONAL,
                statement=f"the handshake's shortest round trip is {trip} longer than that of {view.below.name}",
                value=view.remote.rtt_ns if view.remote else None,
            ),
            *observe.operational(view, slow),
        ),
        experiment=experiment.delay(pair, found),
    )
