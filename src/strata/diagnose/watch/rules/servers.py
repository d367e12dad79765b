"""The servers of a layer that is reached over connections: their CPU time, how many requests they serve at once, and
how long they take for each themselves.

Evidence: quotas, CPU time and waits of the server's processes; how many requests the server has at the device at the
most, beside how many are outstanding; the server's own times of its requests. A thread that is ready and waits for a
CPU has a request in hand, so the waits of all threads are requests (Little's law), as those at the device are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from strata import units
from strata.diagnose.watch.claim import Claim, Not
from strata.diagnose.watch.view import IN_FRONT, STEADY, LoadView
from strata.model.counters import target
from strata.model.finding import Cause
from strata.model.resources import Processors, ServerProcess

FULL_THREAD, FULL_CPU = 0.9, 0.93
HELD_BACK = 0.3
WAITING = 0.3
MOST_OF_IT, ONE_OF_TWO, A_GOOD_PART = 0.6, 0.5, 0.3
ITS_OWN = 0.5
"""Of a CPU, from which on the server itself is a good part of what keeps it busy."""
QUEUED = 1.25
"""Of the specified time, from which on a request may wait at the device."""
BUSY = 0.8
AT_ONCE = 0.6
"""Of the server's requests: so many under way at once show that they do not wait for each other."""
ITS_BYTES, WRITTEN = 0.5, 0.5
"""Of the bytes that the server moves, seen at the device; of the requests, from which on the server's memory may hold
them while the device works for earlier ones."""


def judge(view: LoadView) -> Iterator[Claim | Not | str]:
    """Of the topmost layer, where it is remote."""
    if view.served:
        for one in (*_quota_or_cpu(view), *_few_at_once(view), *_each_takes(view)):
            yield replace(one, layer=view.top.name) if isinstance(one, Claim) else one


def _quota_or_cpu(view: LoadView) -> Iterator[Claim | Not]:
    quotas = [q for q in view.resources.quotas if not q.own]
    held = max(quotas, key=lambda q: q.share, default=None)
    if held is not None and held.share >= HELD_BACK:
        yield Claim(
            Cause.QUOTA,
            0.87 if held.share >= 0.5 else 0.7,
            held.share,
            f"a CPU quota holds {held.where} back in {units.percent(held.share, 2)} of its periods",
            f"The control group of {held.where} uses up its CPU quota in {units.percent(held.share, 2)} of the "
            "periods; requests wait until the next one.",
            "Raise the quota of the server's control group (cpu.max).",
            (f"{held.where}: throttled in {units.percent(held.share, 2)} of the periods",),
            what=held.where,
        )
        return
    busiest = max(view.resources.servers, key=lambda s: s.busiest_thread or 0.0, default=None)
    if busiest is None:
        return
    if (busiest.busiest_thread or 0.0) >= FULL_THREAD:
        yield _thread(busiest)
        return
    yield Not(
        Cause.SINGLE_THREAD,
        f"the busiest thread of {busiest.name} uses {units.percent(busiest.busiest_thread or 0, 2)} of a CPU",
    )
    yield from _ready(view)


def _ready(view: LoadView) -> Iterator[Claim | Not]:
    """Threads of the server that are ready and have no CPU. Which CPUs they may use is not asked: one that is full is
    enough where they are bound to it.
    """
    node = max(view.resources.processors, key=lambda p: p.busy, default=None)
    elsewhere = (view.in_flight or 0.0) + view.on_the_wire
    full = node is not None and max(node.busy, node.busiest) >= FULL_CPU
    if view.ready < max(WAITING, elsewhere) and not (full and _the_only_queue(view, elsewhere)):
        if node is not None:
            yield Not(
                Cause.PROCESSORS,
                f"the CPUs are {units.percent(node.busy, 2)} busy, and {units.significant(view.ready, 2)} threads of "
                "the server are ready and wait for one",
            )
        return
    own = sum(s.cores for s in view.resources.servers)
    share = view.ready / (view.ready + elsewhere)
    who = "itself uses" if own >= ITS_OWN else "uses only"
    yield Claim(
        Cause.PROCESSORS,
        0.84 if full and share >= MOST_OF_IT and view.ready >= 1 else 0.7 if share >= 0.5 else 0.6,
        share,
        f"the server waits for CPUs: {units.significant(view.ready, 2)} of its threads are ready and have none",
        f"At any time {units.significant(view.ready, 2)} threads of the server are ready to run and wait for a CPU, "
        f"while {units.significant(elsewhere, 2)} requests are at the device and on the wire. The server {who} "
        f"{units.significant(own, 2)} CPUs" + (": others have the rest." if own < ITS_OWN else "."),
        "Give the server more CPU time (more CPUs, a higher weight, CPUs of its own), or move other work away.",
        (
            f"{units.significant(view.ready, 2)} threads of the server wait for a CPU, {units.significant(own, 2)} run"
            + _cpus(node),
        ),
    )


def _the_only_queue(view: LoadView, elsewhere: float) -> bool:
    """Whether a good part of what the load keeps outstanding waits for a CPU, and nothing for the device, which has no
    request for some of the time. A load that pauses has less outstanding than it may.
    """
    asked = view.asked
    return (
        asked is not None
        and (view.busy or 1.0) < BUSY
        and view.ready >= max(ONE_OF_TWO, A_GOOD_PART * elsewhere)
        and view.ready + elsewhere >= ONE_OF_TWO * asked
    )


def _cpus(node: Processors | None) -> str:
    if node is None:
        return ""
    return f"; CPUs {units.percent(node.busy, 2)} busy, the busiest one {units.percent(node.busiest, 2)}"


def _thread(server: ServerProcess) -> Claim:
    share = server.busiest_thread or 0.0
    return Claim(
        Cause.SINGLE_THREAD,
        0.82,
        share,
        f"one thread of {server.name} is {units.percent(share, 2)} busy",
        f"One thread of {server.name} does the work and is never idle.",
        "Use more connections or exports, or a server that uses several threads.",
        (f"{server.name}: busiest thread {units.percent(share, 2)} of a CPU",),
        what=server.name,
    )


def _few_at_once(view: LoadView) -> Iterator[Claim | Not]:
    """More is outstanding than ever is at the device, which has the same number all the time and serves each at once:
    the others wait in front of the server's threads.
    """
    most, asked, at_device, in_front = view.most_together, view.asked, view.in_flight or 0.0, view.in_front
    if most is None or asked is None or in_front is None or (view.busy or 0.0) < BUSY:
        return
    if not in_front:
        yield Not(
            Cause.LIMITED_QUEUE,
            f"{units.significant(at_device, 2)} of {units.significant(asked, 2)} outstanding requests are at "
            "the device",
        )
        return
    room = _room(view, most)
    if room is False:
        return
    many = "one request" if most == 1 else f"{most} requests"
    by = "" if view.outstanding is not None else " that the server has"
    # Between two at the device the server works for one; that another waits is then by what the command keeps at most.
    steady = at_device >= STEADY * most or (view.at_server or 0.0) >= most + IN_FRONT
    yield Claim(
        Cause.LIMITED_QUEUE,
        (0.82 if steady else 0.7) if room else 0.62,
        in_front / asked,
        f"the server has {many} at once at {view.device_name}, of {units.significant(asked, 2)}{by}",
        f"{view.device_name} hardly ever has more than {many}, and nearly always as many. "
        f"{units.significant(asked, 2)} are outstanding: {units.significant(in_front, 2)} of them wait in front of "
        "the server, which serves no more at once.",
        "Give the server more threads, or the client more connections (threads=, nconnect, multichannel); a faster "
        "disk shortens each request, and does not serve more of them at once.",
        (
            f"{view.device_name}: at most {most} at once, {units.significant(at_device, 2)} on average, "
            f"{units.duration(view.request_ns or 0.0)} each; {units.significant(asked, 2)} outstanding{by}",
        ),
        () if room else ("whether the device serves more at once: the command below measures it",),
    )


def _room(view: LoadView, most: int) -> bool | None:
    """Whether the device would serve more at once, and that is more than what each request takes too long. None: not
    known.
    """
    if view.pace_queued:
        return False
    spec = view.spec
    if spec is None or view.request_ns is None:
        return None
    slower, stated = view.request_ns / spec.service_ns(view.size), view.lowest.expect.iops is not None
    more = spec.at_once / most if stated else 1.0
    if slower > QUEUED:
        # It may be slow, or serve fewer at once than it is specified for.
        return None if slower < more else False
    return more > 1 if stated else None


def _each_takes(view: LoadView) -> Iterator[Claim | Not]:
    """By the server's own times it has requests that are neither at the device, nor of a thread that waits for a CPU:
    it takes that time for each of them itself (X · R = N).
    """
    held, at_server = view.in_server, view.at_server
    if held is None or at_server is None or view.iops < 1 or view.in_front or view.pace_queued or not _its_own(view):
        return
    outstanding = at_server + view.on_the_wire
    share, each = held / outstanding, held / view.iops * 1e9
    if share < ONE_OF_TWO or held < ONE_OF_TWO:
        yield Not(
            Cause.PER_REQUEST_COST,
            f"the server has each request for {units.duration(each)} beside the device's time, "
            f"{units.percent(share, 2)} of the whole",
        )
        return
    # Those that it has come back one after the other only if each is under way by itself.
    at_once = view.pace.at_once if view.pace is not None else 0
    apart = view.unhindered and at_once >= AT_ONCE * at_server
    memory = view.disk is not None and view.disk.writes > WRITTEN * view.iops and (view.busy or 1.0) >= BUSY
    at_device = f"{units.significant(view.in_flight or 0.0, 2)} are at {view.device_name}"
    yield Claim(
        Cause.PER_REQUEST_COST,
        0.45 if memory else 0.82 if apart and share >= MOST_OF_IT else 0.65 if view.unhindered else 0.55,
        share,
        f"the server takes {units.duration(each)} for each request itself",
        f"By its own times the server has {units.significant(at_server, 2)} requests, of which {at_device} and "
        f"{units.significant(view.ready, 2)} wait for a CPU. The others are in the server: "
        f"{units.duration(each)} of each, {units.percent(share, 2)} of its time.",
        "Look into the server: what it does for each request (a lookup, encryption, a log, a wait); more outstanding "
        "requests hide it, a faster disk does not.",
        (
            f"server: {units.duration(at_server / view.iops * 1e9)} for each request; {view.device_name}: "
            f"{units.duration(view.request_ns or 0.0)}",
            *(
                (f"completions repeat after {at_once}: so many are under way at once, and wait for no other",)
                if apart
                else ()
            ),
        ),
        () if apart else ("whether fewer of them are served at once than are outstanding: another depth tells",),
    )


def _its_own(view: LoadView) -> bool:
    """Whether the device that is counted has what the server moves: another one's time would be taken for its own."""
    moved = sum(r.value for r in view.told.of(target.BYTES))
    return view.bytes_per_s >= ITS_BYTES * moved
