"""The verdict of a watching: idle first, then whoever accounts for the most of the requests' time, or that it is not
known.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import NamedTuple

from strata import units
from strata.analyse.watch.places import places
from strata.diagnose.watch import rules as rules_folder
from strata.diagnose.watch.claim import NAMED, Answers, Claim
from strata.diagnose.watch.view import IDLE_BYTES, IDLE_IOPS, LoadView
from strata.model.finding import Cause, Finding, RuledOut, Verdict, VerdictKind
from strata.model.plugins import modules
from strata.model.resources import Disk
from strata.model.watch import APPLICATION, Observed, WatchedLayer

SHORTEST_S = 2.0
IDLE_BUSY, IDLE_WAITING = 0.01, 0.5
"""Share of the time with a request, and requests in flight, from which on a device is not idle however few they are."""
LIGHT_IOPS, LIGHT_BYTES = 100.0, 1 << 20
CACHED = 4 << 20
"""Bytes per second through system calls, beside a device that has nothing to do."""
FIRST = (
    Cause.CLIENT_PROCESSORS,
    Cause.WRITE_CACHE_FULL,
    Cause.SLOW_MEMBER,
    Cause.STALLS,
    Cause.SLOW_PHASES,
    Cause.WIRE_LOSS,
    Cause.QUOTA,
    Cause.NOISY_WIRE,
    Cause.WRONG_CARD,
    Cause.WIRE_BANDWIDTH,
    Cause.SINGLE_THREAD,
    Cause.SLOW_FLUSH,
    Cause.NOISY_DEVICE,
    Cause.WIRE_LATENCY,
    Cause.PROCESSORS,
    Cause.GENERATOR,
    Cause.IOPS_CAP,
    Cause.BANDWIDTH_CAP,
    Cause.SPLITS,
    Cause.MISALIGNED,
)
"""Of claims that can all be so, the more specific one first: what a device does between its stalls is asked
afterwards, a full
wire makes its round trip long, and a limit on a rate holds the parts of a request as it holds whole ones."""


QUEUED = (Cause.MEDIUM, Cause.SLOW_MEDIUM, Cause.LIMITED_QUEUE, Cause.IOPS_CAP, Cause.BANDWIDTH_CAP)
QUEUED_SURELY = 0.65
"""Causes of a device at which requests wait all the time, and how sure they are when nothing above it can limit."""


class Judged(NamedTuple):
    """All that is said of an observation."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    ruled_out: tuple[RuledOut, ...]
    layers: tuple[WatchedLayer, ...]


def judge(seen: Observed) -> Judged:
    """Pure: the same observation gives the same verdict."""
    view = LoadView(seen)
    rows = places(seen, *view.span)
    early = _too_short(seen) or _unseen(view) or _idle(view)
    if early is not None:
        return Judged(early, (), (), rows)
    answers = Answers()
    for module in modules(sys.modules[rules_folder.__name__]):
        answers.take(list(module.judge(view)))
    own = {VerdictKind.APPLICATION: APPLICATION}
    claims = [replace(c, layer=own.get(c.kind) or c.layer or view.lowest.name) for c in answers.claims]
    ordered = _ordered(_beside_a_full_device(view, claims))
    findings = tuple(claim.finding(n) for n, claim in enumerate(ordered, 1))
    named = {c.cause for c in ordered}
    excluded = tuple(RuledOut(cause=n.cause, because=n.because) for n in answers.excluded if n.cause not in named)
    return Judged(_verdict(view, ordered, answers.missing), findings, excluded, rows)


def _beside_a_full_device(view: LoadView, claims: list[Claim]) -> list[Claim]:
    """What is said of a wire, a server or the application is less sure where requests always wait at the device."""
    below = view.lowest.name
    full = any(c.layer == below and c.cause in QUEUED and c.confidence >= QUEUED_SURELY for c in claims)
    if not full or not view.pace_queued:
        return claims
    return [c if c.layer == below else replace(c, confidence=c.confidence / 2) for c in claims]


def _ordered(claims: list[Claim]) -> list[Claim]:
    """What is named first: of those that are sure enough the most specific, the others by their confidence."""

    def place(claim: Claim) -> tuple[bool, int, float]:
        rank = FIRST.index(claim.cause) if claim.cause in FIRST else len(FIRST)
        return claim.confidence < NAMED, rank, -claim.confidence

    ordered = sorted(claims, key=place)
    if not ordered:
        return ordered
    # A rival of the same kind that is nearly as sure takes from the certainty: both cannot be the limit.
    first = ordered[0]
    rivals = [c for c in ordered[1:] if c.confidence > first.confidence and not _goes_with(first, c)]
    if rivals:
        ordered[0] = replace(first, confidence=min(first.confidence, 0.7))
    return ordered


def _goes_with(first: Claim, other: Claim) -> bool:
    """Whether the other is so as well when the first one is: a stalling device also has requests waiting in it."""
    over_time = (Cause.STALLS, Cause.SLOW_PHASES, Cause.NOISY_DEVICE, Cause.SLOW_FLUSH, Cause.SPLITS)
    return (first.layer == other.layer and first.cause in over_time) or first.cause in (
        Cause.QUOTA,
        Cause.CLIENT_PROCESSORS,
        Cause.WIRE_LOSS,
    )


def _verdict(view: LoadView, ordered: list[Claim], missing: list[str]) -> Verdict:
    if not ordered:
        return _inconclusive(
            "nothing that is counted limits this load",
            _nothing(view),
            "Measure the layers: the command below does.",
            *dict.fromkeys((*missing, *_would_tell(view))),
        )
    first = ordered[0]
    told = first.missing + tuple(missing)
    sure = first.confidence >= NAMED
    return Verdict(
        kind=first.kind if sure else VerdictKind.INCONCLUSIVE,
        layer=first.layer,
        cause=first.cause,
        confidence=round(first.confidence, 2),
        headline=first.title if sure else f"not certain: {first.title}",
        explanation=first.explanation,
        next_step=first.next_step,
        missing=tuple(dict.fromkeys(told if sure else (*told, *_would_tell(view)))),
    )


def _inconclusive(headline: str, explanation: str, next_step: str, *missing: str) -> Verdict:
    return Verdict(
        kind=VerdictKind.INCONCLUSIVE,
        layer=None,
        cause=Cause.NONE,
        confidence=0.0,
        headline=headline,
        explanation=explanation,
        next_step=next_step,
        missing=missing,
    )


def _nothing(view: LoadView) -> str:
    disk = view.disk
    if disk is None or view.in_flight is None:
        return "The load was seen, and no resource that is counted is full."
    return (
        f"{view.device_name} has {units.significant(view.in_flight, 2)} requests in flight and is busy for "
        f"{units.percent(disk.busy or 0.0, 2)} of the time; no resource that is counted is full, and nothing shows "
        "that the application pauses."
    )


def _would_tell(view: LoadView) -> tuple[str, ...]:
    """What was not seen, of what decides."""
    found = []
    if not view.arrivals and view.device is not None and view.device[1] is None:
        found.append("the single requests at the device: a trace needs root and tracefs")
    if view.remote and not view.has_connections:
        found.append("the connections of the path: their nodes must be readable from here")
    if view.seen.ran is None and view.state("storage") is None:
        found.append("where the application's threads wait: root, or the command after --")
    return tuple(found)


def _too_short(seen: Observed) -> Verdict | None:
    if seen.seconds >= SHORTEST_S:
        return None
    return _inconclusive(
        f"watched for {units.duration(seen.seconds * 1e9)} only",
        f"Rates of less than {SHORTEST_S:g} s say nothing of what limits.",
        "Watch longer: --for 30s, or a command that runs longer.",
        "a longer time",
    )


def _unseen(view: LoadView) -> Verdict | None:
    """Nothing of the path can be counted from here."""
    if view.disk is not None and view.in_flight is not None and view.busy is not None:
        return None
    if view.remote and (view.has_connections or view.resources.cards):
        return None
    return _inconclusive(
        "no device and no connection of the path is seen whole from here",
        "No device or connection on the load's path has all required counters on this machine.",
        "Watch on the machine that has the devices, or name its nodes in a stack file.",
        "counters of a device or a connection of the path",
        *view.seen.absent[:4],
    )


def _both_ends_seen(view: LoadView, disk: Disk | None) -> bool:
    """Whether a load would have been counted: the device whole, and of a wire both directions of its client."""
    if disk is None or disk.busy is None or disk.in_flight is None:
        return False
    client = [c for c in view.whole.cards if c.node == view.top.node]
    return not view.remote or any(c.received is not None and c.sent is not None for c in client)


def _idle(view: LoadView) -> Verdict | None:
    """By the whole time: a file system's own commit now and then is no load."""
    whole = view.whole
    disk = None if view.device is None else whole.disk(*view.device)
    if not _both_ends_seen(view, disk):
        return None
    moved = max((c.most for c in whole.cards), default=0.0) if view.remote else 0.0
    iops = 0.0 if disk is None else disk.reads + disk.writes
    rate = 0.0 if disk is None else disk.read_bytes + disk.write_bytes
    busy, waiting = (0.0, 0.0) if disk is None else (disk.busy or 0.0, disk.in_flight or 0.0)
    # A command's load is the load, however light; of what is found there, a device that hardly works is idle.
    most_iops, most_bytes = (IDLE_IOPS, IDLE_BYTES) if view.seen.ran is not None else (LIGHT_IOPS, LIGHT_BYTES)
    if iops >= most_iops or rate >= most_bytes or moved >= most_bytes or busy >= IDLE_BUSY or waiting >= IDLE_WAITING:
        return None
    asked = sum(i.asked_bytes for i in view.watched)
    if view.seen.ran is not None and asked >= CACHED:
        return Verdict(
            kind=VerdictKind.APPLICATION,
            layer=APPLICATION,
            cause=Cause.CACHE_FLATTERS,
            confidence=0.75,
            headline=f"the page cache answers: {units.rate(asked)} are requested and nothing reaches the devices",
            explanation="The application's system calls move data, and the devices below are idle: the "
            "data is in memory.",
            next_step="The storage does not limit this load. Watch it when the data is not cached, or with direct I/O.",
        )
    where = view.device_name or view.top.name
    return Verdict(
        kind=VerdictKind.IDLE,
        layer=None,
        cause=Cause.NONE,
        confidence=0.95,
        headline=f"idle: nothing is requested at {where}" if iops < IDLE_IOPS else f"nearly idle: {where} hardly works",
        explanation=f"{where} had {units.significant(iops, 2)} I/Os per second in "
        f"{units.duration(view.seen.seconds * 1e9)}.",
        next_step="Watch while the application is slow: strata watch … -- COMMAND, or --for a longer time.",
    )
