"""One card of several.

What it claims
    Everything of this layer passes one card, which is full, and another card of the same kind in the same node carries
    nothing.
Why it matters
    The way that is free costs nothing: a route, an address, a binding, or a protocol that uses several connections.
Evidence it needs
    Differential: the losses are those of a wire that is full (see wire bandwidth). Operational: the card that carries
    the bytes, and one beside it that carries less than a hundredth of them.
What rules it out
    A wire that is not full; one card; several that all carry something.
What to do next
    Check which address the layer is reached by and which card the route takes, at both ends.
How sure
    As of the wire's bandwidth. That the idle card leads there as well, and how fast it is, is not seen.
Example
    128 KiB reads at 94 IOPS where the file system gives 2 606, all at 11.5 MiB/s over eth1 with 27 KiB in front of it;
    eth0 of the same node carries nothing.
Source
    Microsoft, SMB Multichannel (which cards are used, and why one is not); ip-route(8); Denning, Buzen 1978.
"""

from __future__ import annotations

from dataclasses import replace

from strata import units
from strata.diagnose import card
from strata.diagnose.case import Pair
from strata.diagnose.causes import wire_bandwidth
from strata.diagnose.opinion import Opinion, Weight
from strata.model.finding import Cause

CAUSE = Cause.WRONG_CARD
PRECEDENCE = 47


def judge_pair(pair: Pair) -> Opinion | None:
    """See the module; None where no wire is full, which is said of its bandwidth."""
    full = wire_bandwidth.limit(pair)
    met = card.alone(pair.view, full.cells) if full.holds else None
    if met is None or card.neighbour(pair.view) is not None:
        return None
    return replace(
        full,
        cause=CAUSE,
        weight=Weight.SHOWN,
        title=f"all of it passes {met.wire.name}, and {met.idle} is idle",
        explanation=f"{met.wire.name} carries {units.rate(met.rate)} and gives no more; {met.idle} of the same node "
        "carries nothing.",
        next_step=card.step(met),
    )
