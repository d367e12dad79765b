"""What is busiest at a point, from its counters, and what is full at the knee: named, or said to be unknown.

A share names a resource only where it is one that fills: all CPUs of a node, one thread of a server, a CPU quota, the
load generator. A device that is busy all the time may serve more at once, so it is never named for that alone: where
the added I/Os wait names it, or a queue before it (`strata.analyse.scaling.waiting`). What was looked at is said too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from strata import units
from strata.analyse.rounds import CellRounds
from strata.analyse.scaling.waiting import Waits, waits
from strata.analyse.stats import estimate
from strata.model.analysis import CellSummary
from strata.model.estimate import Estimate
from strata.model.resources import NS, Card, Quota, Resources
from strata.model.scale import Busy, Saturated, ScalePoint

FULL = 0.9
"""Share of its time, or of what it can give, from which something is taken to be what limits."""
QUEUED = 16 * units.KIB
"""Bytes that wait before a card, mean: with less it is idle again and again."""
HELD_BACK = 0.5
"""Of the periods of a CPU quota: held back in half of them, it is used up whenever there is work."""
GENERATOR = "generator"
DEVICE = "device"
QUEUE = "queue"
CORES = "cores"
CARD = "card"
QUOTA = "quota"
OURS = 0.5
"""Of the use of a node's CPUs, from which on the I/Os fill them and not others."""


def capacities(every: Iterable[Resources]) -> dict[str, float]:
    """What the resources that were used up at any point give then: bytes per second of a card, CPUs of a quota.

    Neither says by itself how much there is; held back all the time, it gives what it has: a card at the most, a quota
    in the middle of the points (in a short round are a period more or less).
    """
    most: dict[str, float] = {}
    quotas: dict[str, list[float]] = {}
    for one in every:
        for c in one.cards:
            if (c.held or 0.0) > 0 and (c.waiting or 0.0) >= QUEUED:
                most[_card(c)] = max(most.get(_card(c), 0.0), c.most)
        for q in one.quotas:
            if q.share >= HELD_BACK and (cores := _server_cores(one, q.node, q.process)):
                quotas.setdefault(_quota(q), []).append(cores)
    return most | {name: median(amounts) for name, amounts in quotas.items()}


def busy_of(
    summary: CellSummary, rounds: CellRounds, ceiling: float | None, most: Mapping[str, float] | None = None
) -> tuple[Busy, ...]:
    """The fullest first. ``ceiling``: IOPS of the load generator alone with this workload; ``most``: `capacities`."""
    each = [Resources(told, v.iops, 1.0) for told, v in zip(rounds.told, rounds.values, strict=True)]
    found = [*_all(summary.resources, each, most or {})]
    if ceiling:
        found.append(Busy(name=GENERATOR, of="the load generator's own ceiling", share=summary.iops.value / ceiling))
    return tuple(sorted(found, key=lambda b: -b.share))


def under_way(rounds: CellRounds) -> tuple[tuple[float, float], ...]:
    """Of each round IOPS, and requests under way at all block devices together; none where a device was not counted."""
    found = []
    for told, v in zip(rounds.told, rounds.values, strict=True):
        held = [d.in_flight for d in Resources(told, v.iops, 1.0).disks]
        if not held or None in held:
            return ()
        found.append((v.iops, sum(one for one in held if one is not None)))
    return tuple(found)


def _all(whole: Resources, each: Sequence[Resources], most: Mapping[str, float]) -> Iterator[Busy]:
    for p in whole.processors:
        at = "" if p.node is None else f"@{p.node}"
        of = f"the CPUs of {p.node}" if p.node else "this machine's CPUs"
        same = [q.demand_ns for one in each for q in one.processors if q.node == p.node]
        yield Busy(name=f"{CORES}{at}", of=of, share=p.busy, servers=float(p.count), demand_ns=_demand(same))
    for s in whole.servers:
        if s.cores < 0.01:
            continue
        if s.busiest_thread is not None:
            same = [_thread(one, s.node, s.name) for one in each]
            of = f"the busiest thread of {s.name}"
            yield Busy(name=_server(s.name), of=of, share=s.busiest_thread, servers=1.0, demand_ns=_demand(same))
    for quota in whole.quotas:
        of = f"the CPU quota of {quota.where}"
        same = [_cores(one, quota.node, quota.process) for one in each]
        cores, amount = _server_cores(whole, quota.node, quota.process), most.get(_quota(quota))
        if cores is not None and amount:
            share = min(1.0, cores / amount)
            yield Busy(name=_quota(quota), of=of, share=share, servers=amount, demand_ns=_demand(same))
            continue
        # A share of periods, not of time: full where it is held back whenever it has work.
        share = min(1.0, quota.share / HELD_BACK * FULL)
        yield Busy(name=_quota(quota), of=of, share=share, servers=None, demand_ns=_demand(same))
    for card in whole.cards:
        if amount := most.get(_card(card)):
            asked = [c.most / amount / one.iops * NS for one in each for c in one.cards if _card(c) == _card(card)]
            yield Busy(
                name=_card(card), of=f"the card {card.name}", share=min(1.0, card.most / amount), servers=1.0,
                demand_ns=_demand(asked), per_byte=card.sent_per_byte,
            )  # fmt: skip
    for disk in whole.disks:
        if disk.busy is not None and disk.busy > 0.01:
            same = [d.demand_ns for one in each for d in one.disks if d.name == disk.name]
            yield Busy(name=f"{DEVICE}@{disk.name}", of=f"device {disk.name}", share=disk.busy, demand_ns=_demand(same))


def _of_others(b: Busy, iops: float, ours: Mapping[str, float]) -> bool:
    """Whether the CPUs of a node are full of what is not ours."""
    if not b.name.startswith(CORES) or b.servers is None:
        return False
    return ours.get(b.name, 0.0) * iops / b.servers < OURS * b.share


def _card(card: Card) -> str:
    return f"{CARD}@{card.name.replace(' ', '-')}"


def _quota(quota: Quota) -> str:
    return QUOTA if quota.process is None else f"{QUOTA}@{quota.process}"


def _server_cores(one: Resources, node: str | None, name: str | None) -> float | None:
    return next((s.cores for s in one.servers if (s.node, s.name) == (node, name)), None)


def _server(name: str) -> str:
    return "server@" + name.replace(" ", "-")


def _thread(one: Resources, node: str | None, name: str) -> float | None:
    s = next((s for s in one.servers if (s.node, s.name) == (node, name)), None)
    return None if s is None or s.busiest_thread is None or one.iops <= 0 else s.busiest_thread / one.iops * NS


def _cores(one: Resources, node: str | None, name: str | None) -> float | None:
    return next((s.demand_ns for s in one.servers if (s.node, s.name) == (node, name)), None)


def _demand(values: Sequence[float | None]) -> Estimate | None:
    known = [v for v in values if v is not None and v > 0]
    return estimate(known, "ns") if known else None


def saturated(points: Sequence[ScalePoint], knee: float | None, ours: Mapping[str, float]) -> Saturated:
    """What is full in the points from the knee on. ``points`` by load; ``ours``: seconds of a resource that each I/O
    asks, where its use follows the rate."""
    if knee is None:
        return Saturated(name=None, says="the knee was not reached, so nothing is saturated")
    past = [p for p in points if p.outstanding >= knee] or list(points[-1:])
    if not past:
        return Saturated(name=None, says="nothing was measured at the knee")
    # Full at the knee itself would be full to the half: the last point is where it shows.
    last = past[-1]
    full = [b for b in last.busy if b.share >= FULL and not b.name.startswith(DEVICE)]
    where = waits(points, knee)
    named = [b for b in full if not _of_others(b, last.iops.value, ours)]
    if named:
        first = named[0]
        return Saturated(name=first.name, says=f"{first.of}: {units.percent(first.share)} in use", share=first.share)
    if full:
        of = full[0].of
        text = f"unknown: {of}: {units.percent(full[0].share)} in use, but the use does not follow the rate: other "
        text += "programs use them, which lowers every figure here"
        # Not named: what a modelled or a virtual device does needs these CPUs, too.
        return Saturated(name=None, says=f"{text}; {where.says if isinstance(where, Waits) else where}")
    if isinstance(where, Waits):
        share = next((b.share for b in last.busy if b.name == f"{DEVICE}@{where.device}"), None)
        return Saturated(name=f"{DEVICE}@{where.device}" if where.device else QUEUE, says=where.says, share=share)
    device = next((b for b in last.busy if b.share >= FULL and b.name.startswith(DEVICE)), None)
    looked = ", ".join(f"{b.of} {units.percent(b.share)}" for b in last.busy[:4]) or "no counter was read"
    text = f"unknown: no counted resource is full ({looked})"
    if device is not None:
        text = f"unknown: {device.of} is never idle; a device that serves several requests at once can be so "
        text += f"long before it is full (others: {looked})"
    return Saturated(name=None, says=f"{text}; {where}")
