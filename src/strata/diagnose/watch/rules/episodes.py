"""Times at which the device does nothing, or little, although requests are in flight: stalls, slow phases, a full
write cache.

Evidence: the stalls that the probe counts (35 ms and more without a completion); completions in bins of 20 ms of a
trace, compared with the requests in flight in the same bins; the bytes written over the whole time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from strata import units
from strata.analyse.series.change import changes
from strata.analyse.series.episodes import episodes
from strata.analyse.watch.pacing import pace
from strata.diagnose.watch.claim import Claim, Not
from strata.diagnose.watch.view import LoadView
from strata.model.counters import blockdev
from strata.model.finding import Cause
from strata.model.steadiness import Episodes
from strata.model.watch import Arrival

STALLED = 0.04
"""Share of the time from which on stalls are told."""
FEWEST = 3
LEAST_S = 0.035
"""Of a gap, as of the stalls that the probe counts: a busy machine holds everything up for less."""
GAPS = 6.0
"""A stall is at least as long as so many mean gaps between completions: a slow device is not one that stalls."""
HELD = 0.5
"""Requests in flight in slow bins, of those in fast ones: with less, the load had paused."""
LONGER, OFTEN = 1.4, 0.3
PHASES = 0.1
MOST = 0.9
"""Share of the time: what is slow for more of it is the usual level, and the other one the exception."""
BATCH = 1.1
"""Of the requests that are served at once: levels of an even pace that differ by no more are those of the bins."""
ASKED = 0.95
"""Of the bins: with requests in flight at their end."""
CLIFF = 0.7
TICK_S = 0.5
ABSORBED, FEW_WRITES = 8.0, 30
"""Times as long a write takes once a cache is full; writes of which a median is told."""
DRAIN = "Let it drain, write less at once, or size the cache for the load."


def judge(view: LoadView) -> Iterator[Claim | Not | str]:
    """Of the device that the requests enter first."""
    if view.disk is None or view.iops < 1:
        return
    stalled, phases = list(_stalls(view)), list(_phases(view))
    slow = next((c for c in phases if isinstance(c, Claim) and c.cause is Cause.SLOW_PHASES), None)
    held = next((c for c in stalled if isinstance(c, Claim)), None)
    if slow is not None and held is not None:
        # What is slow for much longer than nothing completes stands still now and then for being slow, and the other
        # way round.
        part = slow.share >= LONGER * held.share
        yield replace(held, confidence=held.confidence / 2) if part else held
        yield slow if part else replace(slow, confidence=slow.confidence / 2)
    else:
        yield from (*stalled, *phases) if held is None else stalled
    absorbed = tuple(_absorbed(view))
    yield from absorbed or _cliff(view)


def _absorbed(view: LoadView) -> Iterator[Claim]:
    """Writes that took next to nothing at first, and later much more, while reads take as long as ever."""
    times = [
        (
            a.from_s,
            np.array([t for t, w in zip(r.took_us, r.writes, strict=True) if w]),
            np.array([t for t, w in zip(r.took_us, r.writes, strict=True) if not w]),
        )
        for a in view.arrivals
        if (r := a.requests) is not None
    ]
    times = [(at, writes, reads) for at, writes, reads in times if writes.size >= FEW_WRITES]
    if len(times) < 2:
        return
    (_, first, before), (at, last, after) = times[0], times[-1]
    quick, slow = float(np.median(first)), float(np.median(last))
    if slow < ABSORBED * quick:
        return
    if before.size >= FEW_WRITES and after.size >= FEW_WRITES and np.median(after) > 1.5 * np.median(before):
        return
    name = view.device_name or ""
    yield Claim(
        Cause.WRITE_CACHE_FULL,
        0.82,
        min(1.0, (view.disk.writes if view.disk else 0) / view.iops),
        f"{name} took writes in {units.duration(quick * 1e3)} at first, and later in {units.duration(slow * 1e3)}",
        f"The first writes took {units.duration(quick * 1e3)}, as a cache does that has room; after "
        f"{units.duration(at * 1e9)} one takes {units.duration(slow * 1e3)}, and reads take no longer than before: "
        "writes wait until the cache has drained.",
        DRAIN,
        (
            f"{name}: median of {first.size} writes at the beginning {units.duration(quick * 1e3)}, of {last.size} "
            f"later {units.duration(slow * 1e3)}",
        ),
        what=name,
    )


def _stalls(view: LoadView) -> Iterator[Claim | Not]:
    name = view.device_name or ""
    if view.device is None:
        return
    device, node = view.device
    rate = view.told.value(blockdev.STALLS, device=device, node=node)
    share = view.told.value(blockdev.STALLED_SECONDS, device=device, node=node)
    if rate is None or share is None:
        return
    seconds = view.seen.bins[view.span[1]] - view.seen.bins[view.span[0]]
    count, length = rate * seconds, share / rate if rate > 0 else 0.0
    if share < STALLED or count < FEWEST or length * view.iops < GAPS:
        yield Not(Cause.STALLS, f"without a completion for 35 ms or more: {units.percent(share, 2)} of the time")
        return
    # In between it is faster than over all.
    between = view.iops / max(1e-6, 1 - share)
    if length * between < GAPS:
        return
    yield Claim(
        Cause.STALLS,
        0.9 if share >= 0.1 and count >= 5 else 0.75,
        share,
        f"{name} stalls: {units.percent(share, 2)} of the time nothing completes",
        f"{units.count(count)} times in {units.duration(seconds * 1e9)} requests were in flight at {name} and none "
        f"completed for {units.duration(length * 1e9)} on average; in between it does {units.count(between)} IOPS.",
        "Look at the device's log, its firmware's housekeeping, retries of paths, and snapshots at these times.",
        (
            f"{name}: {units.count(count)} stalls of {units.duration(length * 1e9)}, {units.percent(share, 2)} of the "
            "time",
        ),
        what=name,
    )


def _phases(view: LoadView) -> Iterator[Claim | Not]:
    found = [(e, a) for a in view.arrivals if (e := _two_levels(a)) is not None]
    if not found:
        if any(len(a.done) >= 25 for a in view.arrivals):
            yield Not(Cause.SLOW_PHASES, "completions have one level, in bins of 20 ms")
        return
    told, arrival = max(found, key=lambda one: one[0].share)
    name, many = view.device_name or "", told.count >= FEWEST
    if told.factor is None or told.factor > 50:
        if _counted(view) or told.length_s < LEAST_S:
            return
        yield Claim(
            Cause.STALLS,
            0.7 if many else 0.5,
            told.share,
            f"{name} stalls: {units.percent(told.share, 2)} of the time nothing completes",
            f"In {units.duration(arrival.seconds * 1e9)} that were traced, nothing completed {told.count} times, for "
            f"{units.duration(told.length_s * 1e9)} each, with requests in flight.",
            "Look at the device's log, its firmware's housekeeping, and retries of paths.",
            (f"{name}: {told.count} gaps in {units.duration(arrival.seconds * 1e9)} of completions",),
            what=name,
        )
        return
    if told.share < PHASES:
        return
    regular = "" if told.period_s is None else f", repeated every {units.duration(told.period_s * 1e9)}"
    yield Claim(
        Cause.SLOW_PHASES,
        _phases_surely(told),
        told.share,
        f"{name} alternates: {units.percent(told.share, 2)} of the time it is {told.factor:.2g} times slower",
        f"With as many requests in flight, {name} completes {told.factor:.2g} times fewer of them for "
        f"{units.duration(told.length_s * 1e9)} at a time{regular}.",
        "Look for what runs in turns below it: garbage collection, a scrub, a rebuild, a neighbour's job, credits of "
        "a cloud volume.",
        (
            f"{name}: two levels of completions, {told.count} slow phases in "
            f"{units.duration(arrival.seconds * 1e9)}{regular}",
        ),
        what=name,
    )


def _phases_surely(told: Episodes) -> float:
    """What comes again and again is the device's own; single slow moments are more often the machine's."""
    if told.count < FEWEST:
        return 0.4
    return 0.85 if told.period_s is not None else 0.6 if told.share >= OFTEN else 0.4


def _counted(view: LoadView) -> bool:
    """Whether stalls have a counter of their own here, which has been asked."""
    return view.device is not None and bool(view.told.of(blockdev.STALLS, device=view.device[0], node=view.device[1]))


def _two_levels(arrival: Arrival) -> Episodes | None:
    """Of a trace in which requests were in flight all the time, as many in slow bins as in fast ones."""
    counts = np.array(arrival.done[1:-1], dtype=np.float64)
    there = np.array(arrival.flying[1:-1], dtype=np.float64)
    if counts.size < 25 or counts.mean() < 4 or there.size != counts.size or float(np.mean(there >= 1)) < ASKED:
        return None
    told = episodes([counts], arrival.bin_s)
    if told is None or not told.share <= MOST:
        return None
    edge = 0.6 * np.quantile(counts, 0.8)
    slow, fast = there[counts < edge], there[counts >= edge]
    if not slow.size or not fast.size or slow.mean() < HELD * fast.mean():
        return None
    # Servers that end together come in batches, of which a bin holds one more or less though each takes as long.
    even = None if arrival.requests is None else pace(arrival.requests)
    apart = counts[counts >= edge].mean() - counts[counts < edge].mean()
    if even is not None and apart <= BATCH * even.at_once:
        return None
    return told


def _cliff(view: LoadView) -> Iterator[Claim | Not]:
    """One fall of the bytes written, with requests in flight before and after it."""
    name = view.device_name or ""
    first, _ = view.span
    written, depth = view.course(lambda d: d.write_bytes), view.course(lambda d: d.in_flight)
    if len(written) < 12 or not all(written) or not all(depth):
        return
    values = np.log(np.array(written, dtype=np.float64))
    found = changes(np.array(written, dtype=np.float64), TICK_S, shortest=3)
    if not found:
        return
    at = found[0]
    drop = float(np.exp(values[at:].mean() - values[:at].mean()))
    waiting = np.array(depth, dtype=np.float64)
    held = float(waiting[at:].mean()) / max(float(waiting[:at].mean()), 1e-9)
    if drop > CLIFF or held < HELD:
        return
    before = view.seen.bins[first + at] - view.seen.bins[first]
    yield Claim(
        Cause.WRITE_CACHE_FULL,
        0.6,
        1 - drop,
        f"after {units.duration(before * 1e9)} {name} writes {1 / drop:.2g} times slower",
        f"Writes were fast for {units.duration(before * 1e9)} and then fell to {units.percent(drop, 2)} with as many "
        "requests in flight, as a write cache does that has filled up.",
        DRAIN,
        (
            f"{name}: bytes written fall to {units.percent(drop, 2)}, requests in flight stay at "
            f"{units.percent(held, 2)}",
        ),
        what=name,
    )
