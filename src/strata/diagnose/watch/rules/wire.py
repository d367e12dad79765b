"""The wire of a layer that is reached over connections.

Evidence: round trips and retransmissions of the connections as the kernel has them, queues in front of cards; and the
device's share of each request's time, for what is left to the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from strata import units
from strata.diagnose.watch.claim import Claim, Not
from strata.diagnose.watch.view import IDLE_IOPS, LoadView
from strata.model.counters import tcp
from strata.model.finding import Cause
from strata.model.resources import Card

RESENT = 0.002
FRAME = 1500.0
OTHERS = 0.3
FAR_NS = 300_000.0
"""A round trip that is shorter explains no wait that a load would notice beside its device."""
MOST_OF_IT, PART = 0.6, 0.4
ONE = 1.3
"""Requests in flight, mean: up to so many there is one at a time."""
NEVER_QUIET = 0.9
"""Connections with something on its way, mean, from which on nobody pauses: what sleeps then waits."""
SEVERAL = 0.2
"""Of the requests at the device: so many meet another one, and the load has more than one at a time."""
UNSEEN = 0.7
"""The most that is said of an application that asks for little, where something that holds requests is not counted."""
AWAY = 0.5
"""Of what the command keeps outstanding, that is in no place where it is counted, and so may be on its way."""
NOTHING = 0.25
"""Of the time in which the device has no request, from which on it is more than half of nothing that holds the load."""


def judge(view: LoadView) -> Iterator[Claim | Not | str]:
    """Of the topmost layer, where it is remote."""
    if not view.served:
        return
    if not view.has_connections:
        yield "the connections of the path (socket diagnostics of its nodes)"
    for one in (*_lost(view), *_cards(view), *_far(view)):
        yield replace(one, layer=view.top.name) if isinstance(one, Claim) else one


def _lost(view: LoadView) -> Iterator[Claim | Not]:
    resent = view.resources.resent
    if resent is None:
        return
    if resent.share < RESENT:
        yield Not(Cause.WIRE_LOSS, f"{units.percent(resent.share, 2)} of the segments are sent again")
        return
    had = view.told.total(tcp.HAD_ALREADY) or 0.0
    if had > 0.5 * resent.rate or view.resources.dropped > 0.5 * resent.rate:
        return
    yield Claim(
        Cause.WIRE_LOSS,
        0.85 if resent.share >= 0.005 and _loss_seen_whole(view) else 0.7,
        0.9,
        f"{units.percent(resent.share, 2)} of the segments are lost and sent again",
        f"{units.count(resent.rate)} segments per second are sent again by {resent.where}, on cards that drop none "
        "themselves: they are lost on the way. After each the sender waits, and sends less.",
        "Look at the cable, the transceivers, the duplex and the buffers of the switches on the way; count errors at "
        "each port.",
        (
            f"{units.percent(resent.share, 2)} of the segments are sent again, the cards drop "
            f"{units.count(view.resources.dropped)} per second",
        ),
        what=resent.where,
    )


def _loss_seen_whole(view: LoadView) -> bool:
    """Whether every node tells both what it sent and what of it again, and what arrived twice and was dropped is
    known.
    """
    again = {r.node for r in view.told.of(tcp.RESENT)}
    sent = {r.node for r in view.told.of(tcp.SEGMENTS, direction="out")}
    doubled, dropped = view.told.of(tcp.HAD_ALREADY), any(c.dropped is not None for c in view.resources.cards)
    return again == sent and bool(doubled) and dropped


def _cards(view: LoadView) -> Iterator[Claim | Not]:
    """A card with a queue in front of it."""
    full = [c for c in view.resources.cards if (c.waiting or 0.0) >= FRAME and (c.held or 0.0) > 0]
    if not full:
        if any(c.waiting is not None for c in view.resources.cards):
            yield Not(Cause.WIRE_BANDWIDTH, "no packets wait in front of any card")
        return
    card = max(full, key=lambda c: c.waiting or 0.0)
    ours = max(view.bytes_per_s, _of_connections(view))
    others = 1 - ours / card.most if card.most > 0 else 0.0
    where, most = card.name, units.rate(card.most)
    seen = (
        f"{where}: {units.size(card.waiting or 0)} wait in front of it on average, {most} pass it, held back "
        f"{units.count(card.held or 0)} times per second",
    )
    if view.disk is not None and others >= OTHERS:
        yield Claim(
            Cause.NOISY_WIRE,
            # What passes between the command and a server who is not seen is not counted as its own.
            0.6 if view.untold else 0.82,
            others,
            f"others have {units.percent(others, 2)} of the bytes on {where}",
            f"{where} is full, and of the {most} that pass it the load has {units.rate(ours)}.",
            "Find the other sender and move it, or give one of them its own link.",
            seen,
            (f"who serves the command: {view.seen.serving_untold}",) if view.untold else (),
            what=where,
        )
        return
    idle = _idle_twin(view, card)
    yield Claim(
        Cause.WRONG_CARD if idle else Cause.WIRE_BANDWIDTH,
        0.8 if idle else 0.87,
        0.95,
        f"{where} is full at {most}" + (f", and {idle} is idle" if idle else ""),
        f"The queue in front of {where} is never empty; {where} passes {most}.",
        "Use the idle card (routes, multichannel)."
        if idle
        else "Use a faster card, several of them, or send fewer bytes.",
        seen,
        what=where,
    )


def _idle_twin(view: LoadView, card: Card) -> str | None:
    twins = [c for c in view.resources.cards if c.node == card.node and c.interface != card.interface]
    idle = next((c for c in twins if c.most < 0.05 * card.most), None)
    return None if idle is None else idle.name


def _of_connections(view: LoadView) -> float:
    """Bytes per second of the connections to the path's servers, the larger direction of one end."""
    moved: dict[tuple[str, str], float] = {}
    for counter in (tcp.ACKED, tcp.RECEIVED):
        for r in view.of_the_path(counter):
            key = counter.name, r["end"]
            moved[key] = moved.get(key, 0.0) + r.value
    return max(moved.values(), default=0.0)


def _seen_elsewhere(view: LoadView) -> bool:
    """Whether requests would be seen that are neither on the wire nor at the device: in front of a card, on their way
    into the server, and of its threads that wait for a CPU. Who does not see them takes them for none.

    Those that a server has not read from its connection yet are counted nowhere, not by its own times either: only of
    a command that keeps one there are none.
    """
    cards = any(c.waiting is not None for c in view.resources.cards)
    server = any(s.waiting is not None for s in view.resources.servers)
    one = view.outstanding is not None and view.outstanding <= ONE
    return cards and server and view.sending is not None and one


def _far(view: LoadView) -> Iterator[Claim | Not | str]:
    """Whose the time of a request is, and whether the load asks all the time: X · (round trip + device) of them are
    outstanding.
    """
    rtt, device = view.rtt_ns, view.request_ns
    if rtt is None or device is None or view.iops < IDLE_IOPS:
        return
    on_the_wire, at_device = view.on_the_wire, view.in_flight or 0.0
    # What a server has by its own times is under way, too, wherever it is there.
    both = on_the_wire + max(at_device, view.at_server or 0.0)
    in_server = (view.in_server or 0.0) / view.iops * 1e9
    # The server has each request for longer than all else together: it is what one at a time waits for.
    costs = in_server >= rtt + device
    share = rtt / (rtt + device + in_server)
    seen = (
        f"round trip at least {units.duration(rtt)}, device {units.duration(device)} for each request: "
        f"{units.significant(on_the_wire, 2)} requests are on the wire and {units.significant(at_device, 2)} at the "
        "device",
    )
    known = view.asked
    asks = both if known is None else known
    sleeping = view.state("sleeping")
    # A thread that sleeps says nothing of what it waits for; what is on its way, or waits in front of the server, says
    # that something was asked for.
    quiet = (view.sending is None or view.sending < NEVER_QUIET) and not view.in_front
    single = view.together is None or view.together < SEVERAL
    counted = known is not None or view.together is not None
    most = 1.0 if _seen_elsewhere(view) else UNSEEN
    if both < 0.6 and (known is None or known <= ONE) and quiet:
        # Not even one is under way all the time, by what is counted.
        sure = 0.85 if sleeping is not None and sleeping >= 0.4 and both < 0.5 else 0.5
        yield Claim(
            Cause.GENERATOR,
            min(sure, most),
            1 - both,
            f"the application has {units.significant(both, 2)} requests in flight, on average",
            "Wire and device together hold less than one request at a time: for the rest of the time nothing is "
            "requested, or it waits for something that is not counted.",
            "Look into the application: what it does between its requests.",
            seen,
        )
        return
    if sleeping is not None and sleeping >= 0.4 and 0.6 <= both < 2.0 and quiet and single and not costs:
        yield Claim(
            Cause.GENERATOR,
            min(0.8 if counted and view.sending is not None else 0.6, most),
            sleeping,
            f"the application sleeps for {units.percent(sleeping, 2)} of the time",
            "Its threads sleep because they requested it, and few requests are on the wire or at the device: the load "
            "has a fixed rate, or pauses between its requests.",
            "Look into the application: what it waits for between its requests.",
            seen,
        )
        return
    if both <= ONE and asks <= ONE and single and not view.in_front and not costs:
        yield Claim(
            Cause.GENERATOR,
            min(0.82 if counted else 0.6, most),
            1.0,
            "the application has one request at a time",
            f"One request is outstanding at a time; {units.percent(share, 2)} of its time is the wire's, the rest the "
            "device's.",
            "Issue more requests at once; a shorter way makes each of them quicker.",
            seen,
        )
        return
    idle = 0.0 if view.busy is None else 1 - view.busy
    if rtt >= FAR_NS and share < PART and idle >= NOTHING and not quiet:
        yield _windows(view, idle, f"the device has nothing for {units.percent(idle, 2)} of the time", 0.65, seen)
        return
    away = 0.0 if known is None else 1 - (both + view.ready) / known
    if rtt >= FAR_NS and share < PART and away >= AWAY and view.unhindered and not quiet and not view.in_front:
        away_of = f"{units.percent(away, 2)} of the outstanding requests are not at the device, where none waits"
        yield _windows(view, away, away_of, 0.55, seen)
        return
    if rtt < FAR_NS or share < PART:
        yield Not(
            Cause.WIRE_LATENCY,
            f"the round trip of {units.duration(rtt)} is {units.percent(share, 2)} of a request's time",
        )
        return
    # What is not accounted for by the two may be anything.
    accounted = 1.0 if known is None else min(1.0, both / known)
    sure = (0.88 if share >= MOST_OF_IT else 0.55) * (1.0 if accounted >= 0.6 else 0.75)
    yield Claim(
        Cause.WIRE_LATENCY,
        sure,
        share * accounted,
        f"the round trip of {units.duration(rtt)} is {units.percent(share, 2)} of each request's time",
        f"At least {units.duration(rtt)} of each request pass on the wire, {units.duration(device)} at the device: "
        "most of the outstanding requests are on their way.",
        "Keep more in flight (depth, larger blocks, read-ahead) or shorten the path; a faster disk would not help.",
        seen,
    )


def _windows(view: LoadView, share: float, besides: str, sure: float, seen: tuple[str, ...]) -> Claim:
    """Of a large answer more round trips pass than one: as many as its windows."""
    rtt = view.rtt_ns or 0.0
    return Claim(
        Cause.WIRE_LATENCY,
        sure,
        share,
        f"the wire of {units.duration(rtt)} is never quiet, and {besides}",
        f"Something is on its way all the time, and {besides}. A round trip takes at least {units.duration(rtt)}, and "
        "an answer that is larger than the connection's window takes several.",
        "Shorten the path, use several connections, or let the window grow (tcp_rmem, tcp_wmem); a faster disk "
        "would not help.",
        (
            *seen,
            f"connections have something that is not acknowledged for {units.percent(min(1.0, view.sending or 0))} of "
            "the time",
        ),
        () if view.in_server is not None else ("what the server itself takes for each request: it does not tell",),
    )
