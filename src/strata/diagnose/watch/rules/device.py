"""The device: requests wait in its queue, and its pace says why it completes no more of them.

Evidence: it has a request nearly all the time, and more in flight than it serves at once (Little's law and the pace
of its completions, `strata.analyse.watch.pacing`). What a healthy one would do is taken from the specification in the
stack file, or from requests of the same load that met nobody. With neither, it is said that the device limits, and
not whether it should give more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from strata import units
from strata.analyse.watch.pacing import Pace
from strata.diagnose.watch.claim import Claim, Not
from strata.diagnose.watch.view import LoadView
from strata.model.counters import blockdev
from strata.model.finding import Cause
from strata.units import NS_PER_S

BUSY = 0.8
DEEP = 1.25
"""In flight, mean, from which on requests may wait for each other."""
NEAR = 0.18
"""Times that differ by less are the same."""
SAME = 0.08
"""A server's time, and the time between completions of which it is the only one."""
SLOWER = 1.25
CLOSER = 0.8
"""Completions closer together than this share of one request's time are paced by something else than one server."""
CREDIT = 2
"""Requests that came together to an idle device and took as long as the first: more than one server."""
FEWEST = 50
"""Requests in whose pace a limit on the rate is named."""
CLOCK = 0.02
"""Spread of the times between completions, up to which they are a clock's rather than those of a server that is slowed
down."""
OTHERS = 0.15
"""Of the requests at the device, from which on it matters whose they are."""
LARGE = 64 << 10
"""Blocks from which on a limit of one rate is more often one on bytes."""
FASTER = "A faster device, or fewer and larger requests; nothing above it limits."
PROVE = "Measure the device at other depths and block sizes: the command below does."


def judge(view: LoadView) -> Iterator[Claim | Not | str]:
    """Of the device that the requests enter first."""
    disk, busy, n = view.disk, view.busy, view.in_flight
    if disk is None or busy is None or n is None or busy < BUSY or n < DEEP or view.request_ns is None:
        return
    name = view.device_name or ""
    base = (
        f"{name}: {units.significant(n, 3)} requests in flight, busy {units.percent(busy, 3)} of the time, "
        f"{units.count(view.iops)} IOPS, {units.duration(view.request_ns)} for each",
    )
    told = _named(view, name, base) or _by_spec(view, name, base)
    if told is not None:
        yield told
        return
    if view.pace_queued is False or view.unhindered:
        # As many as it serves at once, as far as is seen, or none that waits: the load may ask for too little.
        yield "whether the device serves more at once than the load keeps in flight"
        sure = 0.45
    else:
        sure = 0.62
    yield Claim(
        Cause.MEDIUM,
        sure,
        busy,
        f"{name} has requests waiting all the time",
        f"All requests of the load are at {name}, which is always busy: the layers above wait for it. "
        "Whether it should give more is not known: there is no specification, and its completions show no pace.",
        PROVE,
        base,
        ("the device's specified performance: expect.latency and expect.iops in a stack file", *_blind(view)),
        what=name,
    )


def _blind(view: LoadView) -> tuple[str, ...]:
    return () if view.arrivals else ("the single requests at the device: a trace needs root and tracefs",)


def _named(view: LoadView, name: str, base: tuple[str, ...]) -> Claim | None:
    pace = view.pace
    if pace is None or not view.pace_queued:
        return None
    each, spec = pace.service_ns, view.spec
    alone = _alone(view)
    if view.rested is not None and pace.at_once == 1:
        alone = min(alone or view.rested.median_ns, view.rested.median_ns)
    health = spec.service_ns(view.size) if spec is not None else alone
    seen = (
        *base,
        f"completions: {pace.at_once} at once, {units.duration(each)} each ({_interval(pace)}spread "
        f"{units.percent(pace.spread, 2)}, {units.count(pace.requests)} requests)",
        *(
            (f"specification: {spec.at_once} at once, {units.duration(spec.service_ns(view.size))} each",)
            if spec
            else ()
        ),
        *((f"requests that found the device idle took {units.duration(alone)}",) if alone is not None else ()),
    )
    share = min(1.0, view.busy or 1.0)
    if pace.at_once == 1 and (capped := _cap(view, health, alone, name, share, seen)) is not None:
        return capped if pace.requests >= FEWEST else _too_few(capped, pace, name)
    if spec is None:
        return Claim(
            Cause.MEDIUM,
            0.65,
            share,
            f"{name} is full: it serves {_many(pace.at_once)}, {units.duration(each)} each",
            f"While requests wait, {name} completes {_many(pace.at_once)} each {units.duration(each)}: that is the "
            "most it gives. Whether a healthy one gives more is not known without a specification or an earlier run.",
            PROVE,
            seen,
            ("the device's specified performance: expect.latency and expect.iops in a stack file",),
            what=name,
        )
    stated = spec.service_ns(view.size)
    sure = 0.85 if not view.disk or view.disk.writes < 0.2 * view.iops else 0.78
    if pace.at_once < spec.at_once and each < stated * SLOWER:
        # Single completions that are not as far apart as one request takes may be let through by a clock.
        same = abs(each / stated - 1) <= (NEAR if pace.at_once > 1 else SAME)
        return Claim(
            Cause.LIMITED_QUEUE,
            sure if same else 0.6,
            share,
            f"{name} serves {_many(pace.at_once)} instead of {spec.at_once}",
            f"Each request takes {units.duration(each)} as specified, and {_many(pace.at_once)} are served; the "
            f"specification is {spec.at_once}. The others wait for their turn.",
            "Look for what serialises: a queue, a lock, one path of several, a queue depth (nr_requests, queue_depth).",
            seen,
            () if same else ("whether a limit on the rate does it: the command below measures other depths and sizes",),
            what=name,
        )
    if each >= stated * SLOWER:
        return Claim(
            Cause.SLOW_MEDIUM,
            sure if pace.at_once >= spec.at_once else 0.6,
            share,
            f"{name} takes {each / stated:.2g} times as long as specified for each request",
            f"{name} serves {_many(pace.at_once)}, each for {units.duration(each)}; the specification says "
            f"{units.duration(stated)}.",
            "Look at the device's health, its temperature, its firmware, and at other users of the storage below it.",
            seen,
            what=name,
        )
    return Claim(
        Cause.MEDIUM,
        0.88 if _all_seen(view) else 0.74,
        share,
        f"{name} is full and gives what it is specified for",
        f"{name} serves {_many(pace.at_once)}, {units.duration(each)} each, as specified: this is its "
        "specified maximum.",
        FASTER,
        seen,
        what=name,
    )


def _by_spec(view: LoadView, name: str, base: tuple[str, ...]) -> Claim | None:
    """Without a pace: servers' worth of work that the specification sees in the rate, beside those that it states."""
    spec, n = view.spec, view.in_flight or 0.0
    if spec is None or n < 1.5 * spec.at_once:
        return None
    stated = spec.service_ns(view.size)
    worth = view.iops * stated / NS_PER_S
    first, burst = _alone(view), view.burst
    seen = (
        *base,
        f"specification: {spec.at_once} at once, {units.duration(stated)} each; the rate is the work of "
        f"{units.significant(worth, 2)} of them",
        *((f"requests that found the device idle took {units.duration(first)}",) if first is not None else ()),
    )
    if worth >= 0.85 * spec.at_once:
        return Claim(
            Cause.MEDIUM,
            0.82 if _all_seen(view) else 0.74,
            view.busy or 1.0,
            f"{name} is full and gives what it is specified for",
            f"With requests waiting, {name} gives {units.count(view.iops)} IOPS, as specified.",
            FASTER,
            seen,
            what=name,
        )
    if worth > 0.75 * spec.at_once:
        return None
    less = f"{name} gives {units.percent(worth / spec.at_once, 2)} of what it is specified for"
    cause, sure = Cause.UNEXPLAINED, 0.7
    if first is not None and first >= SLOWER * stated and burst is not None and burst.together >= 2:
        cause, sure = Cause.SLOW_MEDIUM, 0.72
    elif first is not None and first <= stated * (1 + NEAR) and _whole(worth) and round(worth) < spec.at_once:
        cause, sure = Cause.LIMITED_QUEUE, 0.6
    return Claim(
        cause,
        sure,
        view.busy or 1.0,
        less,
        f"Requests wait at {name} all the time, and it completes fewer of them than its specification promises.",
        "Look at the device's health, its members, its limits, and at other users of the storage below it.",
        seen,
        (
            "whether each request takes longer, fewer are served at once, or their rate is held: the command below "
            "measures it",
            *_blind(view),
        ),
        what=name,
    )


def _all_seen(view: LoadView) -> bool:
    """Whether what else could limit a device that gives what it promises would have shown: others, stalls, splits."""
    if view.device is None or not view.arrivals or not view.issues:
        return False
    if view.untold and view.others >= OTHERS:
        # These may be a neighbour's.
        return False
    return view.told.value(blockdev.STALLED_SECONDS, device=view.device[0], node=view.device[1]) is not None


def _whole(worth: float) -> bool:
    return round(worth) >= 1 and abs(worth - round(worth)) <= 0.12


def _alone(view: LoadView) -> float | None:
    """Time of a request that met nobody, by the first ones of bursts and by those that were alone."""
    found = [
        b for b in (view.alone.median_ns if view.alone else None, view.burst.first_ns if view.burst else None) if b
    ]
    return min(found) if found else None


def _cap(
    view: LoadView,
    health: float | None,
    alone: float | None,
    name: str,
    share: float,
    seen: tuple[str, ...],
) -> Claim | None:
    """Whether single completions are paced by a limit on their rate."""
    pace = view.pace
    assert pace is not None
    gap = pace.service_ns
    closer = health is not None and gap < CLOSER * health
    first = alone is not None and alone < CLOSER * gap
    # Who serves one at a time does so of those that come together to an idle device, too; a limit has credit then.
    # Where the first of them is told late, others may be done by then.
    burst = view.burst
    credit = burst is not None and burst.together >= CREDIT and burst.first_ns < SLOWER * gap
    shown = closer or first or credit
    # What makes a server slower than it is specified makes its times vary.
    clock = view.spec is not None and 1 + SAME < gap / (health or gap) < SLOWER and pace.spread <= CLOCK
    if not shown and not pace.per_byte and not clock:
        return None
    of_bytes = pace.per_byte if pace.per_byte is not None else view.size >= LARGE
    cause = Cause.BANDWIDTH_CAP if of_bytes else Cause.IOPS_CAP
    iops = NS_PER_S / gap
    limit = units.rate(iops * view.size) if of_bytes else f"{units.count(iops)} IOPS"
    told = pace.per_byte is not None
    other = Cause.IOPS_CAP if of_bytes else Cause.BANDWIDTH_CAP
    return Claim(
        cause,
        0.85 if told and shown else 0.72 if shown or pace.per_byte else 0.6,
        share,
        f"{name} is held at {limit}",
        f"{pace.requests} completions follow each other at an even {units.duration(gap)} ({_interval(pace)}so "
        f"{_rates(pace, view.size if of_bytes else None)}), "
        + (
            f"while one request alone takes {units.duration(health or alone or 0)}"
            if closer or first
            else f"although {burst.together} that came together to the idle device were served at once"
            if credit and burst is not None
            else "in proportion to their size"
            if pace.per_byte
            else f"which is {units.percent(gap / (health or gap) - 1, 2)} more than one request is specified for"
        )
        + ": a limit on the rate holds them, not the time that each of them takes.",
        "Look for a limit on the volume or the group (QoS of the volume, io.max, a cloud disk's limit), and raise it.",
        seen,
        () if told else (f"all requests have one size, so {other.words} fits as well; other block sizes tell",),
        what=name,
    )


def _too_few(capped: Claim, pace: Pace, name: str) -> Claim:
    """What is said in place of a limit that so few requests show."""
    tells = f"a limit on the rate ({capped.title}) needs {FEWEST} requests to be named, and {pace.requests} were traced"
    return replace(
        capped,
        cause=Cause.MEDIUM,
        confidence=0.55,
        title=f"{name} has requests waiting all the time",
        explanation=f"While requests wait, {name} completes one each {units.duration(pace.service_ns)}, as far as "
        f"{pace.requests} requests show. Whether each of them takes so long or their rate is limited is not known.",
        next_step=PROVE,
        missing=(f"{tells}: watch longer, or a larger load",),
    )


def _interval(pace: Pace) -> str:
    low, high = _ends(pace)
    return f"95 %: {units.span(units.duration(low), units.duration(high))}, "


def _rates(pace: Pace, size: float | None) -> str:
    """The limit's interval: in bytes, where requests of that ``size`` are meant."""
    least, most = (NS_PER_S / end for end in reversed(_ends(pace)))
    if size is not None:
        return units.span(units.rate(least * size), units.rate(most * size))
    return units.span(f"{units.count(least)} IOPS", f"{units.count(most)} IOPS")


def _ends(pace: Pace) -> tuple[float, float]:
    """Of the interval of its time; a pace is regular, so that it does not hold 0."""
    told = pace.service
    assert told.low is not None and told.high is not None
    return max(told.low, 1.0), told.high


def _many(at_once: int) -> str:
    return "one request at a time" if at_once == 1 else f"{at_once} requests at once"
