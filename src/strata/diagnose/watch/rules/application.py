"""The application: it asks for nothing, it pauses, it has one request at a time, or it has no CPU time.

Evidence: the share of time in which the device had no request (nothing was asked for then, so no device can have been
waited for: at most 1 ÷ (1 − that share) is to be gained below); requests in flight by Little's law; where the threads
of the load were found.
"""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.analyse.watch.pacing import spread_of_times
from strata.diagnose.watch import off_block
from strata.diagnose.watch.claim import Claim, Not
from strata.diagnose.watch.view import IDLE_BYTES, IDLE_IOPS, LoadView
from strata.model.finding import Cause

PAUSES = 0.25
"""Share of the time without any request from which on pauses are the larger part of what can be gained."""
CLEARLY = 0.5
SERIAL = 1.25
"""Requests in flight, mean: up to so many there is one at a time."""
SLOW = 1.4
"""Of a specification's time from which on a request is slow though it meets nobody."""
HELD_BACK = 0.3
QUEUED = 1.25


def judge(view: LoadView) -> Iterator[Claim | Not | str]:
    """What the application does to itself."""
    yield from _cpu(view)
    if view.remote or view.disk is None or view.busy is None:
        return
    if view.iops < IDLE_IOPS and view.bytes_per_s < IDLE_BYTES:
        return
    pauses = 1 - view.busy
    yield from _paused(view, pauses)
    if view.in_flight is not None and pauses < PAUSES:
        yield from _serial(view) if view.in_flight <= SERIAL else _few(view)


def _cpu(view: LoadView) -> Iterator[Claim | Not]:
    """Its own CPU time: a quota, or a CPU that it never leaves."""
    for one in view.issuing:
        if one.throttled is not None and one.throttled >= HELD_BACK:
            yield Claim(
                Cause.CLIENT_PROCESSORS,
                0.9 if one.throttled > 0.6 else 0.75,
                min(1.0, one.throttled),
                f"a CPU quota holds {one.name} back in {units.percent(one.throttled, 2)} of its periods",
                "The control group of the application has used up its CPU quota in these periods; until the next one "
                "it issues no request, however fast the storage is.",
                f"Raise the quota of its control group ({one.group or 'cpu.max'}); a faster layer below changes "
                "little.",
                (
                    f"{one.name}/{one.pid}: quota used up in {units.percent(one.throttled, 2)} of the periods, "
                    f"{units.significant(one.cores, 2)} CPUs at work",
                ),
                what=one.name,
            )
            return
    running = view.state("running")
    if running is not None and running >= 0.8 and (view.busy or 0.0) < 0.9:
        yield Claim(
            Cause.CLIENT_PROCESSORS,
            0.75,
            running,
            f"the application's threads compute for {units.percent(running, 2)} of the time",
            "The threads that issue the I/O are on a CPU, or ready for one, nearly all the time: they have no time to "
            "ask for more.",
            "Give it more threads or faster CPUs, or let it do less for each I/O.",
            (f"its threads are running in {units.percent(running, 2)} of the looks",),
        )
    elif running is not None:
        yield Not(
            Cause.CLIENT_PROCESSORS,
            f"the application's threads are on a CPU in {units.percent(running, 2)} of the looks",
        )


def _paused(view: LoadView, pauses: float) -> Iterator[Claim | Not]:
    assert view.busy is not None
    if pauses < PAUSES:
        yield Not(Cause.GENERATOR, f"requests are in flight for {units.percent(view.busy, 3)} of the time")
        return
    # Threads that ask a server who is not seen do not wait for storage themselves.
    stored = None if view.untold else view.state("storage")
    # Whoever waits for storage while its device has nothing waits above it.
    above = stored is not None and stored > view.busy + 0.3
    if above:
        return
    sleeping = view.state("sleeping")
    seen = (
        ()
        if sleeping is None or stored is None
        else (
            f"its threads sleep in {units.percent(sleeping, 2)} of the looks, wait for storage in "
            f"{units.percent(stored, 2)}",
        )
    )
    busy_elsewhere = stored is not None and stored < 0.5
    sure = 0.92 if pauses >= CLEARLY and busy_elsewhere else 0.78 if pauses >= CLEARLY else 0.65
    yield Claim(
        Cause.GENERATOR,
        sure,
        pauses,
        f"the application requests nothing for {units.percent(pauses, 2)} of the time",
        f"In {units.percent(pauses, 2)} of the time no request is in flight at {view.device_name}: the load pauses "
        f"between its I/Os (think time, a rate of its own, or other work). {_most(pauses)}",
        "Look into the application: what it does between its requests; more of them at once would use what is idle.",
        (
            f"{view.device_name} has a request in {units.percent(view.busy, 3)} of the time, {units.count(view.iops)} "
            "IOPS",
            *seen,
        ),
        (f"who serves the command: {view.seen.serving_untold}",) if view.untold else (),
        what=view.device_name or "",
    )


def _most(pauses: float) -> str:
    """What storage without any delay would give (Amdahl)."""
    most = 1 / pauses
    if most < 1.1:
        return "Storage without any delay would change hardly anything."
    return f"Storage without any delay would give at most {most:.2g} times the rate."


def _serial(view: LoadView) -> Iterator[Claim | Not]:
    took, spec = view.request_ns, view.spec
    if took is None:
        return
    slow = spec is not None and took > SLOW * spec.service_ns(view.size)
    where = (
        f"{view.device_name}: {units.significant(view.in_flight or 0, 2)} in flight, {units.duration(took)} for each"
    )
    if slow and spec is not None:
        stated = spec.service_ns(view.size)
        yield Claim(
            Cause.SLOW_MEDIUM,
            0.75,
            1 - stated / took,
            f"each request takes {took / stated:.2g} times as long as specified, and none waits for another",
            f"One request is in flight at a time, so none waits for another, and each takes {units.duration(took)}; "
            f"the specification says {units.duration(stated)}.",
            "Look at the device's health and at what is below it; more requests at once do not shorten one.",
            (where, f"specification: {units.duration(stated)} for {units.size(view.size)}"),
            what=view.device_name or "",
        )
        return
    yield Claim(
        Cause.GENERATOR,
        _serial_surely(view),
        1.0,
        "the application has one request at a time",
        f"One request is in flight at a time: the next one is issued when it is done, after {units.duration(took)}. "
        "The rate is one divided by that time, however many the storage could serve at once.",
        "Issue more requests at once (iodepth, threads, read-ahead, larger blocks), or reduce the latency of each.",
        (where,),
        ("how much more the storage would give: the command below measures it at other depths",),
        what=view.device_name or "",
    )


def _serial_surely(view: LoadView) -> float:
    """Less where a flush or a slow medium could be what the one request waits for, and neither can be seen; and where
    the device makes each one longer.
    """
    if off_block.slows(view):
        return 0.45
    disk = view.disk
    assert disk is not None
    commits_unseen = disk.writes > 0.1 * view.iops and disk.flushes is None
    return 0.6 if commits_unseen else 0.85 if view.spec is not None else 0.78


def _few(view: LoadView) -> Iterator[Claim | Not]:
    """More than one, and none of them waits: the load could have more in flight."""
    steady, in_flight, took = view.steady, view.in_flight, view.request_ns
    if steady is None or steady.requests is None or in_flight is None or took is None or view.spec is None:
        return
    stated = view.spec.service_ns(view.size)
    alike = spread_of_times(steady.requests) < 1.3
    if alike and took <= QUEUED * stated and in_flight <= 1.1 * view.spec.at_once and view.pace_queued is not True:
        yield Claim(
            Cause.GENERATOR,
            0.7,
            1.0,
            f"the application keeps {units.significant(in_flight, 2)} requests in flight, and none of them waits",
            f"Each takes {units.duration(took)}, as long as one alone by the specification "
            f"({units.duration(stated)}): there is no queue. The rate follows from how many the application keeps in "
            "flight.",
            "Issue more requests at once, if the rate is to be higher.",
            (f"{units.significant(in_flight, 2)} in flight, {units.duration(took)} for each, with little variation",),
            ("whether more at once would give more: the command below measures it",),
            what=view.device_name or "",
        )
