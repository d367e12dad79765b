"""A watching without an end: a slice each so many seconds, kept in a ring on disk, and a look back into it."""

from __future__ import annotations

import datetime
import hashlib
import math
import os
import platform
import re
import shlex
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from pydantic import ValidationError

from strata import units
from strata.analyse.watch.course import rates
from strata.analyse.watch.levels import SHORTEST, level_changes
from strata.app.signals import stop_on_signals
from strata.app.watch import OpenWatch, opened
from strata.app.where import diagnosis_of, local, place_of
from strata.diagnose.watch.verdict import judge
from strata.discover.untouched import resolved_here
from strata.errors import UsageError
from strata.host.ring import LINE_MOST, Ring
from strata.host.xdg import state_dir, state_dir_if_there
from strata.model.finding import evidence_of
from strata.model.live import LiveLayer
from strata.model.pages import WatchKept
from strata.model.watch import LOOKS_FEWEST, LookBack, Observed, Slice, SliceIssuer, WatchedLayer, WatchEvent
from strata.probes.issuers import Issuers
from strata.units import NS_PER_S

SHORTEST_S, LONGEST_S = 5.0, 3600.0
SAMPLE_S = 1.0
LOOKS, LOOK_MOST_S = 1.5 * LOOKS_FEWEST, 1.0
"""At the threads of who issues, in a slice, as it may be one thread alone; and between two looks at the most."""
KEPT_S, KEPT_BYTES = 24 * 3600.0, 64 * units.MIB
NEWEST = 60
"""Slices that a change of level is looked for in, while it goes on."""
AROUND_S = 300.0
EVIDENCE_MOST = 6
ABSENT_MOST, SHORT_MOST = 20, 100
"""What a line that is too long keeps of nodes that are gone, and of each of these and of a group's name."""
"""Of each kind, in a slice: a line of the ring is short."""
_LEFT_OUT = ("stalls", "cycles", "frequency", "numa", "softirq", "health")
"""Probes whose price is not for all the time: stalls are read 50 times a second, the others tell no rule of a load."""
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")


def ring_of(where: str, *, untouched: bool = False) -> Ring:
    """Of one path or stack file, in the state directory. ``untouched``: without a look at what lies on another machine,
    as of `resolved_here`.
    """
    folder = state_dir() / "watch"
    folder.mkdir(mode=0o700, exist_ok=True)
    whole = str(resolved_here(local(Path(where)))) if untouched else _whole(where)
    return Ring(folder / _ring_name(whole), KEPT_BYTES, KEPT_S)


def _whole(where: str) -> str:
    try:
        return str(local(Path(where)).resolve())
    except (OSError, RuntimeError) as e:
        # A name that is too long, a directory that is shut, links that lead in a circle.
        why = (e.strerror if isinstance(e, OSError) else None) or str(e)
        raise UsageError("cannot look at", where, why, "give the path of a file, a directory or a device") from e


def _ring_name(whole: str) -> str:
    return f"ring-{hashlib.sha256(os.fsencode(whole)).hexdigest()[:16]}"


def kept_in(where: str) -> Ring:
    """The ring of a path or stack file, to be written: it says what it is of."""
    ring = ring_of(where)
    ring.about(_whole(where))
    return ring


def kept_places() -> tuple[WatchKept, ...]:
    """What something was kept of, the newest first."""
    place = state_dir_if_there()
    found = []
    for folder in (place / "watch").glob("ring-*") if place is not None else ():
        ring = Ring(folder)
        where, span = ring.subject, ring.span
        if where is not None and span is not None and folder.name == _ring_name(where):
            found.append(WatchKept(where=where, from_unix_ns=span[0], to_unix_ns=span[1]))
    return tuple(sorted(found, key=lambda one: one.to_unix_ns, reverse=True))


def watch_on(
    where: str,
    every_s: float,
    told: Callable[[Slice], None],
    seconds: float | None = None,
    nodes: str | None = None,
) -> None:
    """Until a signal, or for ``seconds``. ``told`` gets each slice when it is kept. ``nodes``: the scheduler on whose
    nodes the layers are sampled. Raises `UsageError`, `RunFailed`.
    """
    if not SHORTEST_S <= every_s <= LONGEST_S:
        raise UsageError("cannot watch every", f"{every_s:g} s", f"--every must be {SHORTEST_S:g} s to 1 hour")
    if seconds is not None and seconds < every_s:
        why = f"a line is told every {every_s:g} s, and none in less"
        raise UsageError("cannot watch for", f"{seconds:g} s", why, f"write --for {every_s:g}s or more")
    look_s = min(LOOK_MOST_S, every_s / LOOKS)
    ring = kept_in(where)
    newest: list[Slice] = []
    place = place_of(where)
    proof = None if place is None else diagnosis_of(place, nodes)
    with (
        opened(where, SAMPLE_S, nodes=nodes, left_out=_LEFT_OUT, look_s=look_s) as watched,
        stop_on_signals() as stop,
    ):
        began = time.monotonic()
        issuers = Issuers(look_s=look_s, all_s=LONGEST_S).start()
        due, since = began + every_s, watched.now_ns
        try:
            while not stop() and (seconds is None or time.monotonic() - began < seconds):
                time.sleep(max(0.0, min(0.25, due - time.monotonic())))
                if time.monotonic() < due:
                    continue
                # A node that stands still is waited for; what was due meanwhile is one slice.
                due += every_s * max(1, math.ceil((time.monotonic() - due) / every_s))
                at, now = time.time_ns(), watched.now_ns
                seen = _observed(watched, where, since, now, issuers)
                since = now
                newest = _with_next(newest, _slice(seen, at, proof))
                ring.append(at, _line(newest[-1]))
                told(newest[-1])
        finally:
            issuers.stop()


def _observed(watched: OpenWatch, where: str, since: int, now: int, issuers: Issuers) -> Observed:
    seconds = (now - since) / NS_PER_S
    edges = tuple(seconds * i / 5 for i in range(6))
    series, who = watched.take(issuers)
    return Observed(
        where=where,
        began_unix_ns=since,
        seconds=seconds,
        stack=watched.stack,
        reached=watched.reached,
        bins=edges,
        rates=rates(series, since, edges),
        issuers=who,
        servers=watched.servers,
        speeds=watched.speeds,
        absent=watched.lost,
    )


def _slice(seen: Observed, now: int, proof: str | None) -> Slice:
    found = judge(seen)
    verdict = found.verdict
    return Slice(
        at_unix_ns=now, seconds=round(seen.seconds, 2), kind=verdict.kind, layer=verdict.layer, cause=verdict.cause,
        confidence=verdict.confidence, headline=verdict.headline, layers=found.layers,
        absent=seen.absent, explanation=verdict.explanation, next_step=verdict.next_step, proof=proof,
        evidence=evidence_of(verdict, found.findings)[:EVIDENCE_MOST], missing=verdict.missing[:EVIDENCE_MOST],
        ruled_out=found.ruled_out[:EVIDENCE_MOST], here=seen.stack.here(platform.node()),
        stack=tuple(LiveLayer(name=x.name, endpoint=x.endpoint, node=x.node, on=x.on) for x in seen.stack.layers),
        issuers=tuple(SliceIssuer(label=i.label, kind=i.kind, group=i.group) for i in seen.issuers[:4]),
    )  # fmt: skip


def _line(one: Slice) -> str:
    """What the ring keeps of it. Of more places than a line has room for the first of each layer are kept (of cards,
    devices and servers the busiest), and how many are not; of what names make too long, its beginning.
    """
    most, less, line = len(one.layers), one, one.model_dump_json(exclude_none=True)
    while len(line.encode()) > LINE_MOST and most:
        most //= 2
        rows = _first_of_each(one.layers, most)
        left = f"{len(one.layers) - len(rows)} more places were counted and are not kept"
        less = one.model_copy(update={"layers": rows, "absent": (*one.absent, left)})
        line = less.model_dump_json(exclude_none=True)
    if len(line.encode()) > LINE_MOST:
        # A stack of hundreds of layers, as many nodes that are gone, or control groups with the longest names.
        few, more = less.absent[:ABSENT_MOST], len(less.absent) - ABSENT_MOST
        absent = (*(_short(why) for why in few), *((f"and {more} more",) if more > 0 else ()))
        issuers = tuple(i.model_copy(update={"group": _short(i.group)}) for i in less.issuers)
        brief = less.model_copy(update={"stack": (), "absent": absent, "issuers": issuers})
        line = brief.model_dump_json(exclude_none=True)
    return line


def _short(text: str) -> str:
    return text if len(text) <= SHORT_MOST else f"{text[:SHORT_MOST]}…"


def _first_of_each(rows: tuple[WatchedLayer, ...], most: int) -> tuple[WatchedLayer, ...]:
    """Of each layer its first rows, at most so many."""
    seen = Counter[str]()
    found = []
    for row in rows:
        seen[row.layer] += 1
        if seen[row.layer] <= most:
            found.append(row)
    return tuple(found)


def _with_next(newest: list[Slice], one: Slice) -> list[Slice]:
    """The newest slices with one more, which has the changes that it shows and none before it did."""
    newest = [*newest[1 - NEWEST :], one]
    newest[-1] = one.model_copy(update={"events": _new(newest)})
    return newest


def _new(newest: list[Slice]) -> tuple[WatchEvent, ...]:
    """Changes whose new level has just become long enough to be one."""
    if len(newest) < 2 * SHORTEST:
        return ()
    at = newest[-SHORTEST].at_unix_ns
    known = {(e.layer, e.what, e.metric) for s in newest[-SHORTEST:] for e in s.events}
    return tuple(e for e in level_changes(newest) if e.at_unix_ns >= at and (e.layer, e.what, e.metric) not in known)


def keeps(where: str) -> str:
    """The hint for a place of which nothing was kept."""
    return f"strata watch {shlex.quote(where)} --every 10s keeps the last hours"


def look_back(where: str, around: str, within_s: float = AROUND_S, *, untouched: bool = False) -> LookBack:
    """What was kept from ``within_s`` before the time of day to as long after it; ``untouched`` as of `ring_of`. Raises
    `UsageError`.
    """
    ring = ring_of(where, untouched=untouched)
    span = ring.span
    if span is None:
        why = "nothing was kept for it"
        raise UsageError("cannot look back at", where, why, keeps(where))
    at = moment(around, span[1])
    half = round(within_s * NS_PER_S)
    found = _kept(where, ring, at - half, at + half)
    if found is None:
        first, last = (time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ns / NS_PER_S)) for ns in span)
        raise UsageError("cannot look back to", around, "nothing was kept at that time", f"kept: {first} to {last}")
    return found


def newest(where: str, within_s: float, *, untouched: bool = False) -> LookBack | None:
    """What was kept last, so many seconds of it; None where nothing was. ``untouched`` as of `ring_of`."""
    ring = ring_of(where, untouched=untouched)
    span = ring.span
    if span is None:
        return None
    begin = span[1] - round(within_s * NS_PER_S)
    return _kept(where, ring, begin, span[1])


def _kept(where: str, ring: Ring, begin: int, end: int) -> LookBack | None:
    found: list[Slice] = []
    for _, text in ring.lines(begin, end):
        try:
            found.append(Slice.model_validate_json(text))
        except ValidationError:
            # Kept by another version.
            continue
    if not found:
        return None
    return LookBack(
        where=where, from_unix_ns=begin, to_unix_ns=end, slices=tuple(found), events=level_changes(found),
        gaps=_gaps(found),
    )  # fmt: skip


def moment(text: str, newest_ns: int) -> int:
    """``14:05``, ``14:05:30`` (the last such time that is no later than what is newest), or a date and time of ISO
    8601.
    """
    if match := _CLOCK.fullmatch(text):
        hour, minute, second = (int(part or 0) for part in match.groups())
        day = datetime.datetime.fromtimestamp(newest_ns / NS_PER_S).astimezone()
        try:
            at = day.replace(hour=hour, minute=minute, second=second, microsecond=0)
        except ValueError as e:
            raise _no_time(text) from e
        if at.timestamp() * NS_PER_S > newest_ns + AROUND_S * NS_PER_S:
            at -= datetime.timedelta(days=1)
        return round(at.timestamp() * NS_PER_S)
    try:
        return round(datetime.datetime.fromisoformat(text).astimezone().timestamp() * NS_PER_S)
    except (ValueError, OverflowError, OSError) as e:
        raise _no_time(text) from e


def _no_time(text: str) -> UsageError:
    return UsageError("cannot look back to", text, "it is not a time", "write --around 14:05 or 2026-11-25T14:05")


def _gaps(slices: list[Slice]) -> tuple[tuple[int, int], ...]:
    return tuple(
        (before.at_unix_ns, after.at_unix_ns)
        for before, after in pairwise(slices)
        if after.at_unix_ns - before.at_unix_ns > 2.5 * after.seconds * NS_PER_S
    )
