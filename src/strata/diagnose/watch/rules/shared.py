"""Who shares the device: requests of others wait in the same queue.

Evidence: a trace that says whose each request is. Threads of the kernel that write for others are nobody's. Who serves
the command (a database its client) issues for it. Where the command has no requests and nobody is seen to serve it, it
is not known whose they are. Without a trace: what processes moved, of whatever device.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from strata import units
from strata.diagnose.watch.claim import Claim, Not
from strata.diagnose.watch.view import LoadView
from strata.model.finding import Cause
from strata.model.resources import place
from strata.text.controls import line as clean

OTHERS = 0.15
QUEUED = 1.5


def judge(view: LoadView) -> Iterator[Claim | Not | str]:
    """Only where the load is known: it is a command's, or one process issues it."""
    if view.disk is None or view.iops < 1 or view.in_flight is None:
        return
    mine = view.mine
    if not mine or (view.remote and not any(s.pid in mine for s in view.sharers)):
        return
    if not view.sharers:
        yield from _by_processes(view, mine)
        return
    others = [s for s in view.sharers if s.pid not in mine and not s.kernel]
    share = view.others
    if share < OTHERS:
        served = sorted({clean(s.name) for s in view.sharers if s.pid in view.seen.serving})
        with_it = f" (the command is served by {', '.join(served)})" if served else ""
        yield Not(
            Cause.NOISY_DEVICE, f"others have {units.percent(share, 2)} of the requests at {view.device_name}{with_it}"
        )
        return
    node = None if view.device is None else view.device[1]
    who = clean(place(f"{others[0].name}/{others[0].pid}", node))
    if view.untold or (view.seen.ran is not None and not view.issues):
        yield from _unknown(view, share, who)
        return
    yield from _claimed(view, share, who, 0.86 if view.seen.ran is not None else 0.6)


def _unknown(view: LoadView, share: float, who: str) -> Iterator[Claim | str]:
    """The command issues nothing itself, or its connections were not seen: who has the requests may be its server as
    well as a neighbour.
    """
    hardly = "it has hardly any requests of its own, and no process is seen at its connections"
    tells = f"who serves the command: {view.seen.serving_untold or hardly}"
    issues = "is not known to issue them" if view.issues else "issues hardly any"
    yield tells
    for one in _claimed(view, share, who, 0.4):
        yield replace(
            one,
            explanation=f"{one.what} always has requests waiting. {units.percent(share, 2)} of them are issued by "
            f"{who} and others, and the command {issues}: they may be for it or for another program.",
            next_step=f"Find out whether {who} works for the command. If not: {one.next_step}",
            missing=(tells,),
        )


def _by_processes(view: LoadView, mine: frozenset[int]) -> Iterator[Claim | Not | str]:
    """What else was moved by the processes of the device's machine, where it is enough to be at this device."""
    moved = sum(i.read_bytes + i.write_bytes for i in view.beside if i.pid in mine)
    at_device = view.bytes_per_s
    other = [i for i in view.beside if i.pid not in mine]
    rest = at_device - moved
    there = sum(i.read_bytes + i.write_bytes for i in other)
    if (
        at_device > 0
        and moved > 0
        and (view.issues or view.seen.ran is None)
        and rest >= OTHERS * at_device
        and there >= 0.7 * rest
    ):
        most = max(other, key=lambda i: i.read_bytes + i.write_bytes)
        if view.untold:
            yield from _unknown(view, rest / at_device, clean(most.label))
            return
        yield from _claimed(view, rest / at_device, clean(most.label), 0.6)


def _claimed(view: LoadView, share: float, who: str, sure: float) -> Iterator[Claim]:
    name = view.device_name or ""
    waits = (view.busy or 0.0) >= 0.8 and (view.in_flight or 0.0) >= QUEUED
    if not waits:
        return
    yield Claim(
        Cause.NOISY_DEVICE,
        sure,
        share,
        f"{who} has {units.percent(share, 2)} of the requests at {name}",
        f"{name} always has requests waiting, and {units.percent(share, 2)} of them are not the load's: {who} has the "
        f"most of these. The load would get up to {1 / (1 - min(share, 0.99)):.2g} times as much alone.",
        f"Move {who} elsewhere, or limit it (io.max, io.weight, ionice).",
        (
            f"{name}: {units.percent(share, 2)} of its requests are others', "
            f"{units.significant(view.in_flight or 0, 2)} in flight",
        ),
        what=name,
    )
