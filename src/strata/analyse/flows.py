"""Amplification and conservation: bytes at each place of the path for each byte the application moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from strata import units
from strata.analyse.counters import together
from strata.analyse.stats import estimate
from strata.model.counters import Readings, blockdev, members, net, target
from strata.model.ends import Flow
from strata.model.estimate import Estimate
from strata.model.groups import grouped

NEAR = 0.05
"""What may be missing or too much without a word: headers, the journal's own writes, the edges of the samples."""
LITTLE = 0.005
"""Bytes for each application byte below which a place took no part."""
UNEVEN = 1.5
"""Times the mean of all members from which on one carries too much: three quarters where there are two."""


@dataclass(frozen=True)
class RoundBytes:
    """One round: the application's bytes and I/Os per second, and what the counters said."""

    read: float
    write: float
    told: Readings
    reads: float = 0.0
    writes: float = 0.0


@dataclass(frozen=True)
class _Place:
    """``device``: the block device, or the one that a member belongs to; ``member`` None: it is none."""

    kind: str
    name: str
    node: str | None
    direction: str
    device: str | None = None
    member: str | None = None
    several: tuple[str, ...] = ()
    """The devices that share the data, where the place is all of them."""


def flows(rounds: Sequence[RoundBytes], carriers: Sequence[str] = ()) -> tuple[Flow, ...]:
    """A ratio with its interval over the rounds for every place that took part; a place must be known in all rounds.

    Several ``carriers`` share the data: what they moved together is a place too.
    """
    found = grouped(told for one in rounds for told in _with_all(dict(_places(one.told)), carriers))
    made = []
    for place, rates in found.items():
        words = [_denominator(place, one) for one in rounds]
        if len(rates) < len(rounds) or any(amount <= 0 for _, amount in words):
            continue
        ratios = [rate / amount for rate, (_, amount) in zip(rates, words, strict=True)]
        requests = [_requests(place, word, one) for (word, _), one in zip(words, rounds, strict=True)]
        per_io = [r for r in requests if r is not None]
        if max(ratios) >= LITTLE:
            made.append(
                Flow(
                    place=f"{place.kind} {place.name}",
                    node=place.node,
                    direction=place.direction,
                    of=words[0][0],
                    device=place.device,
                    member=place.member,
                    per_byte=estimate(ratios, "1"),
                    per_io=estimate(per_io, "1") if len(per_io) == len(rounds) else None,
                )
            )
    return tuple(sorted(made, key=lambda f: (_ORDER.index(f.kind), f.node or "", f.place, f.direction)))


_ORDER = ("device", "member", "target", "wire")


def notes(
    found: Sequence[Flow], chain: Sequence[str] = (), carriers: Sequence[str] = (), *, direct: bool
) -> tuple[str, ...]:
    """Where the bytes do not add up, and what that usually means. ``chain``: devices from the file system downward;
    ``carriers``: as in `flows`."""
    chain = (together(carriers),) if len(carriers) > 1 else chain
    return (*_at_device(found, chain, direct), *_between_nodes(found), *_between_members(found))


def _at_device(found: Sequence[Flow], chain: Sequence[str], direct: bool) -> Iterator[str]:
    here = [f for f in found if f.kind == "device" and f.node is None]
    name = next((d for d in chain if any(f.name == d for f in here)), None)
    for flow in (f for f in here if f.name == name):
        times = f"{units.significant(flow.per_byte.value)} bytes"
        if _below(flow.per_byte, 1 - NEAR) and flow.direction == flow.of == "read":
            yield f"{name} read {times} per byte read: the rest came from a cache above it"
        elif _below(flow.per_byte, 1 - NEAR) and flow.direction == flow.of == "write":
            where = "the rest was not written yet" if not direct else "the rest is in a cache above it"
            yield f"{name} wrote {times} per byte written: {where}"
        elif _above(flow.per_byte, 1 + NEAR) and flow.direction == flow.of:
            what = "written" if flow.direction == "write" else "read"
            why = "journal, copies, whole blocks for parts" if flow.direction == "write" else "whole blocks, read-ahead"
            yield f"{name} moved {times} per byte {what}: {why}, or other I/O"
        elif flow.direction == "read" and flow.of == "write" and _above(flow.per_byte, NEAR):
            yield f"{name} read {times} per byte written: parts of blocks are read before they are written"


def _between_nodes(found: Sequence[Flow]) -> Iterator[str]:
    wires = [f for f in found if f.kind == "wire" and f.node is not None and f.name != net.LOOPBACK]
    if len({f.node for f in wires}) < 2:
        return
    sent, received = (sum(f.per_byte.value for f in wires if f.direction == d) for d in (net.SENT, net.RECEIVED))
    if max(sent, received) > 0 and abs(sent - received) / max(sent, received) > NEAR:
        yield (
            f"the nodes sent {units.significant(sent)} and received {units.significant(received)} bytes per byte: "
            "the difference was lost on the way, or belongs to a node that is not observed"
        )


def _between_members(found: Sequence[Flow]) -> Iterator[str]:
    families = grouped(((flow.device, flow.direction), flow) for flow in found if flow.member is not None)
    for (device, direction), family in families.items():
        values = [m.per_byte.value for m in family]
        mean = sum(values) / len(values)
        most = max(family, key=lambda m: m.per_byte.value)
        if len(family) > 1 and mean > LITTLE and most.per_byte.value > UNEVEN * mean:
            verb = "reads" if direction == "read" else "writes"
            share = units.percent(most.per_byte.value / sum(values), 2)
            yield f"{most.member} carries {share} of the {verb} of {device}, which has {len(family)} members"


_DEVICE = {"read": (blockdev.READ_BYTES, blockdev.READS), "write": (blockdev.WRITE_BYTES, blockdev.WRITES)}
_MEMBER = {"read": members.READ_BYTES, "write": members.WRITE_BYTES}


def _places(told: Readings) -> Iterator[tuple[_Place, float]]:
    for direction, (moved, _) in _DEVICE.items():
        for r in told.of(moved):
            yield _Place("device", r["device"], r.node, direction, r["device"]), r.value
    for direction, moved in _MEMBER.items():
        for r in told.of(moved):
            name = f"{r['member']} of {r['device']}"
            yield _Place("member", name, r.node, direction, r["device"], r["member"]), r.value
    for r in told.of(target.BYTES):
        if r["direction"] in _DEVICE:
            yield _Place("target", "of our own", r.node, r["direction"]), r.value
    for r in told.of(net.BYTES):
        yield _Place("wire", r["interface"], r.node, r["direction"]), r.value


def _with_all(places: dict[_Place, float], carriers: Sequence[str]) -> Iterator[tuple[_Place, float]]:
    yield from places.items()
    for direction in _DEVICE if len(carriers) > 1 else ():
        each = [places.get(_Place("device", name, None, direction, name)) for name in carriers]
        known = [rate for rate in each if rate is not None]
        if len(known) == len(carriers):
            yield _Place("device", together(carriers), None, direction, several=tuple(carriers)), sum(known)


def _requests(place: _Place, of: str, one: RoundBytes) -> float | None:
    """Requests at a device, or at several together, for each I/O of the application."""
    mine = {"read": one.reads, "write": one.writes, "all": one.reads + one.writes}[of]
    if place.kind != "device" or mine <= 0:
        return None
    _, asked = _DEVICE[place.direction]
    each = [one.told.value(asked, device=name, node=place.node) for name in place.several or (place.device,)]
    known = [rate for rate in each if rate is not None]
    return sum(known) / mine if len(known) == len(each) else None


def _denominator(place: _Place, one: RoundBytes) -> tuple[str, float]:
    """Of a device the bytes of the same direction; of a wire all, and of a device that moves what nobody asked for."""
    same = {"read": one.read, "write": one.write}.get(place.direction, 0.0)
    if same > 0:
        return place.direction, same
    if one.read > 0 and one.write > 0:
        return "all", one.read + one.write
    return ("read", one.read) if one.read > 0 else ("write", one.write)


def _below(e: Estimate, bound: float) -> bool:
    return (e.value if e.high is None else e.high) < bound


def _above(e: Estimate, bound: float) -> bool:
    return (e.value if e.low is None else e.low) > bound
