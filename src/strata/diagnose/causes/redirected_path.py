"""A redirected path: this node has no direct access to the data.

What it claims
    Each request crosses one wire more than necessary: the node that issues it, or the one it is sent to, has no path
    of its own to the data and goes through the node that has one.
Why it matters
    The same request is cheaper on the owner. No new hardware is needed: move the workload to the owner, or the
    ownership to this node.
Evidence it needs
    Operational: the bytes that all nodes send for each byte read, at the largest reads. Either the layer it is
    compared with is the same kind of path from another node and crosses no wire, and this one crosses one; or it
    crosses one more than the layer it is compared with and the way between their two nodes account for, and a node
    receives the bytes only to forward them. Differential: the loss.
What rules it out
    Reads that cross no wire; as many crossings as below; a layer that is meant to be remote, compared with another
    kind of path.
What to do next
    Move the workload to the owner, or the ownership to this node; then find out why the direct path is not used.
How sure
    By the part of the slow workloads whose bytes were counted. What the wire then costs them (its rate, its round
    trip) is a cause of its own.
Example
    Reads send 1.00 bytes per byte from n1 to n3, and 0 on n1 itself: n3 has no copy. Writes send 1 + r, and r on n1.
Source
    Microsoft, Cluster Shared Volumes (redirected I/O, the coordinator node); the Storage Spaces Direct guide to
    volumes and their owners.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import CROSSES, STAYS, copies_beyond
from strata.diagnose import crossing, observe
from strata.diagnose.case import Pair
from strata.diagnose.crossing import Crossing
from strata.diagnose.evidence import operational
from strata.diagnose.opinion import Opinion, Weight
from strata.model.finding import Cause

CAUSE = Cause.REDIRECTED
PRECEDENCE = 46


def judge_pair(pair: Pair) -> Opinion:
    view, slow = pair.view, pair.view.affected
    here = crossing.reads(p.upper for p in view.everything)
    there = crossing.reads(p.lower for p in view.everything)
    if here is None or there is None:
        return Opinion(None, "the bytes on the wires of its nodes were not counted")
    owner = _owner(pair, here, there)
    if owner is None:
        times = units.significant(here.times, 2)
        return Opinion(False, f"a read byte crosses {times} wires, as it must")
    relay = next(iter(here.relays), None)
    node = relay or view.layer.node or "this node"
    return Opinion(
        weight=Weight.SHOWN,
        title=f"{node} has no direct path to the data: its requests go through {owner}",
        explanation=f"A read byte crosses {units.significant(here.times, 2)} wires, with {view.below.name} "
        f"{units.significant(there.times, 2)}: {owner} has the data"
        + (f", and {relay} only forwards it." if relay else f", and {node} has no copy."),
        next_step=f"Move the workload from {node} to {owner}, or the ownership to {node}; a faster wire gains less.",
        cells=frozenset(p.key for p in slow),
        strength=1.0,
        lead=8.0,
        evidence=(
            observe.slower(view),
            operational(
                f"per byte read, {_sent(here)}; with {view.below.name} {_sent(there)}" + _written(pair, there),
                observe.cells(view, [p for p in view.points if not p.workload.rw.writes]),
            ),
            *observe.waits_above(view, slow),
        ),
    )


def _owner(pair: Pair, here: Crossing, there: Crossing) -> str | None:
    """The node that has the data, where this layer goes through it and need not."""
    layer, below = pair.view.layer, pair.view.below
    apart = layer.node != below.node
    owner = next(iter(here.sources), below.node)
    if layer.target.kind == below.target.kind and apart and there.times <= STAYS and here.times >= CROSSES:
        return owner
    more = here.times - there.times - (1.0 if apart else 0.0)
    return owner if more >= CROSSES and here.relays else None


def _sent(found: Crossing) -> str:
    said = [f"{node} sends {units.significant(b, 2)}" for node, b in found.sent.items() if b >= STAYS]
    return " and ".join(said) if said else "nothing is sent"


def _written(pair: Pair, read: Crossing) -> str:
    there = crossing.writes(p.lower for p in pair.view.everything)
    copies = 0 if there is None else copies_beyond(there.times, read.times)
    return f". The owner sends each written byte {copies} times, for its copies" if copies else ""
