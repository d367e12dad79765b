"""One network card of several.

What it claims
    All traffic of this layer uses one card, which is saturated, while another card of the same kind in the same node
    carries nothing.
Why it matters
    The free card costs nothing: change a route, an address or a binding, or use a protocol with several connections.
Evidence it needs
    Differential: the losses are those of a saturated wire (see wire bandwidth). Operational: the card that carries the
    bytes, and another one that carries less than a hundredth of them.
What rules it out
    A wire that is not saturated; one card; several cards that all carry something.
What to do next
    Check by which address the layer is reached and which card the route uses, at both ends.
How sure
    As for the wire's bandwidth. Whether the idle card leads to the same place, and how fast it is, is not known.
Example
    128 KiB reads at 94 IOPS where the file system gives 2 606, all at 11.5 MiB/s over eth1 with 27 KiB queued in front
    of it; eth0 of the same node carries nothing.
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
SIDES = ("full", "bytes", "path")


def judge_pair(pair: Pair) -> Opinion | None:
    """See the module; None where no wire is full, which is said of its bandwidth."""
    full = wire_bandwidth.limit(pair)
    met = card.alone(pair.view, full.cells) if full.holds else None
    if met is None or card.neighbour(pair.view) is not None:
        return None
    return replace(
        full,
        weight=Weight.SHOWN,
        title=f"all traffic uses {met.wire.name}, and {met.idle} is idle",
        explanation=f"{met.wire.name} is saturated at {units.rate(met.rate)}; {met.idle} of the same node carries "
        "nothing.",
        next_step=card.step(met),
    )
