"""A watching for the terminal: the verdict, where the requests are, who issues them, and what would prove it."""

from __future__ import annotations

import datetime
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from strata import units
from strata.model.finding import VerdictKind, evidence_of
from strata.model.watch import (
    CALLS,
    Arrival,
    Issuer,
    LookBack,
    Slice,
    SliceIssuer,
    WatchedLayer,
    WatchEvent,
    WatchResult,
)
from strata.report import answer, figures, words
from strata.report.text_layout import NOTHING, Paint, clean, field, tables, wrap

_COLUMN = 12
_GROUP = 32
"""Characters of a control group that is told whole."""
_COLORS = {
    VerdictKind.INCONCLUSIVE: "yellow",
    VerdictKind.IDLE: "green",
    VerdictKind.MEDIUM: "green",
    VerdictKind.APPLICATION: "yellow",
}
_ISSUERS, _RULED_OUT = 6, 6


def watch_text(result: WatchResult, width: int, color: bool = False) -> str:
    """The whole text, without a trailing newline."""
    paint = Paint(color)
    lines = wrap(_head(result), width)
    lines += ["", *_places(result.layers, width), ""]
    lines += _verdict(result, width, paint)
    lines += _others(result, width)
    lines += _who(result.issuers, width)
    lines += _arrived(result.arrivals, width)
    lines += _events(result.events, width)
    lines += _absent(result, width)
    lines += _confirm(result, width, paint)
    return "\n".join(lines)


def _head(result: WatchResult) -> str:
    beside = f" · beside {clean(' '.join(result.ran.command))[:80]}" if result.ran is not None else ""
    cost = (
        "" if result.sampling_share is None else f" · watching took {figures.percent(result.sampling_share)} of one CPU"
    )
    return f"{result.where} · watched for {units.duration(result.seconds * 1e9)}{beside}{cost}"


class PlaceFigure(NamedTuple):
    """A column of the places: its head in a narrow table and in a wide one, and what it says of a row."""

    short: str
    name: str
    said: Callable[[WatchedLayer], str]


PLACE_FIGURES = (
    PlaceFigure("IOPS", "IOPS", lambda r: _count(r.iops)),
    PlaceFigure("rate", "throughput", lambda r: _rate(r.bytes_per_second)),
    PlaceFigure("in flight", "in flight", lambda r: _number(r.in_flight)),
    PlaceFigure("each", "time of a request", lambda r: _time(r.request_ns)),
    PlaceFigure("busy", "busy", lambda r: _share(r.busy)),
    PlaceFigure("demand", "demand", lambda r: _time(r.demand_ns)),
    PlaceFigure("p50", "p50", lambda r: _time(r.p50_ns)),
    PlaceFigure("p99", "p99", lambda r: _time(r.p99_ns)),
    PlaceFigure("size", "size", lambda r: NOTHING if r.bs is None else units.size(r.bs)),
    PlaceFigure("sequential", "sequential", lambda r: _share(r.sequential)),
)
_FIRST = 5
"""Of them, in the first of two tables."""


def place_said(row: WatchedLayer) -> str:
    """``sda``, ``system calls: not counted here``."""
    return row.what if row.untold is None else f"{row.what}: not counted here"


def _places(rows: tuple[WatchedLayer, ...], width: int) -> list[str]:
    if not rows:
        return ["  nothing was counted"]
    head = ("layer", "what", *(one.short for one in PLACE_FIGURES))
    body = [(r.layer, place_said(r), *(one.said(r) for one in PLACE_FIGURES)) for r in rows]
    lines = tables(head, body, width, names=2, first=2 + _FIRST, elastic=(0, 1))
    for one in rows:
        if one.untold is not None:
            lines += field("not counted", f"{one.layer}: {one.untold}", width)
    return lines


def _verdict(result: WatchResult, width: int, paint: Paint) -> list[str]:
    verdict = result.verdict
    sure = "" if verdict.kind is VerdictKind.INCONCLUSIVE else f" · confidence {verdict.confidence:.2f}"
    title = (
        f"{words.KIND[VerdictKind.INCONCLUSIVE]} · {verdict.headline}"
        if verdict.kind is VerdictKind.INCONCLUSIVE
        else answer.line(verdict)
    )
    lines = paint.lines(field("VERDICT", f"{title}{sure}", width, 0, _COLUMN), "bold", _COLORS.get(verdict.kind, "red"))
    lines += wrap(verdict.explanation, width, "  ")
    for one in evidence_of(verdict, result.findings):
        lines += wrap(one, width, "  · ", "    ")
    if verdict.missing:
        lines += field("would tell", "; ".join(verdict.missing), width)
    if result.ruled_out:
        told = "; ".join(answer.ruled_out_briefly(result.ruled_out[:_RULED_OUT]))
        lines += field("ruled out", told, width)
    lines += field("do first", verdict.next_step, width)
    return lines


def _others(result: WatchResult, width: int) -> list[str]:
    told = [f for f in result.findings[1:] if f.confidence >= 0.5]
    lines: list[str] = []
    for finding in told[:3]:
        lines += field("also", f"{finding.layer} · {finding.title} · confidence {finding.confidence:.2f}", width)
    return lines


def _who(issuers: tuple[Issuer, ...], width: int) -> list[str]:
    if not issuers:
        return []
    head = ("issued by", "kind", "group", "reads", "writes", "CPUs", "waits for storage", "sleeps")
    body = [
        (
            clean(i.label) + (" *" if i.watched else ""),
            i.kind,
            group_said(i.group),
            _rate(i.read_bytes),
            _rate(i.write_bytes),
            units.significant(i.cores, 2),
            _share(None if i.threads is None else i.threads.share("storage")),
            _share(None if i.threads is None else i.threads.share("sleeping")),
        )
        for i in issuers[:_ISSUERS]
    ]
    note = ["  * the command"] if any(i.watched for i in issuers) else []
    return ["", *tables(head, body, width, names=1, first=6, elastic=(0, 1, 2)), *note]


def group_said(group: str) -> str:
    """A control group by its end, which tells containers apart: ``…/docker-3f2a….scope``."""
    told = clean(group) or "/"
    return told if len(told) <= _GROUP else f"…/{told.rstrip('/').rpartition('/')[2]}"


def _arrived(arrivals: tuple[Arrival, ...], width: int) -> list[str]:
    if not arrivals:
        return []
    lines = [""]
    seen: set[str] = set()
    for a in arrivals:
        if a.label in seen:
            continue
        seen.add(a.label)
        total = sum(n for _, n in a.lengths) or 1
        sizes = ", ".join(f"{units.size(size)} {figures.percent(n / total)}" for size, n in a.lengths[:3])
        who = ", ".join(f"{clean(s.name)}/{s.pid} {figures.percent(s.share)}" for s in a.sharers[:3])
        depth = "" if a.summary.mean_depth is None else f"; depth {units.significant(a.summary.mean_depth, 2)} at issue"
        lines += field("arrives", f"{a.label}: {sizes}{depth}; {_order(a)}; from {who or 'unknown'}", width)
    return lines


def _order(a: Arrival) -> str:
    parts = []
    for name, o in (("reads", a.summary.read), ("writes", a.summary.write)):
        if o.requests and o.windowed_share is not None:
            parts.append(f"{figures.percent(o.windowed_share)} of the {name} sequential")
    return ", ".join(parts) or "too few for an order"


def _events(events: tuple[WatchEvent, ...], width: int) -> list[str]:
    lines = [""] if events else []
    for one in events:
        lines += field("event", f"{clock(one.at_unix_ns)} · {one.layer} · {one.says}", width)
    return lines


def _absent(result: WatchResult, width: int) -> list[str]:
    return field("not seen", "; ".join(result.absent), width) if result.absent else []


def _confirm(result: WatchResult, width: int, paint: Paint) -> list[str]:
    found = result.confirm
    if found is None:
        return []
    cost = []
    if found.writes_bytes is not None:
        cost.append(f"writes at most {units.size(found.writes_bytes)} to its own test file")
    if found.seconds is not None:
        cost.append(f"takes about {units.duration(found.seconds * 1e9)}")
    lines = ["", *field("to prove it", f"{found.workload}" + (f" ({', '.join(cost)})" if cost else ""), width)]
    lines.append(paint(f"  {found.command}", "bold"))
    if found.verdict is not None:
        lines += field(
            "confirmed",
            f"{answer.line(found.verdict)} · confidence {found.verdict.confidence:.2f} (strata explain {found.run})",
            width,
        )
    return lines


def _count(value: float | None) -> str:
    return NOTHING if value is None else units.count(value)


def _rate(value: float | None) -> str:
    return NOTHING if value is None else units.rate(value)


def _share(value: float | None) -> str:
    return NOTHING if value is None else figures.percent(value)


def _number(value: float | None) -> str:
    return NOTHING if value is None else units.significant(value, 2)


def _time(value: float | None) -> str:
    return NOTHING if value is None else units.duration(value)


def slice_lines(one: Slice, width: int) -> list[str]:
    """A slice of a watching that goes on: one line of the verdict, and one for each change of level."""
    at_devices = (r for r in one.layers if r.iops is not None and r.kind != CALLS)
    busiest = max(at_devices, key=lambda r: r.iops or 0.0, default=None)
    does = (
        "" if busiest is None else f" · {busiest.what} {_count(busiest.iops)} IOPS, {_rate(busiest.bytes_per_second)}"
    )
    who = f" · issued by {issuers_said(one.issuers, 1)}" if one.issuers else ""
    lines = wrap(f"{clock(one.at_unix_ns)} {slice_said(one)}{does}{who}", width, "", "         ")
    for event in one.events:
        lines += wrap(f"event · {event.layer} · {event.says}", width, "         ", "           ")
    if one.absent:
        lines += wrap(f"not seen · {'; '.join(one.absent)}", width, "         ", "           ")
    return lines


def look_back_text(found: LookBack, width: int, color: bool = False) -> str:
    """What was kept of a time: each verdict with the time it held, and the changes of level between them."""
    span = f"{clock(found.from_unix_ns)} to {clock(found.to_unix_ns)}, local time"
    head = f"{found.where} · {span} · {figures.plural(len(found.slices), 'slice')}"
    lines = Paint(color).lines(wrap(head, width), "bold")
    rows: list[tuple[int, list[str]]] = []
    for first, last in stretches(found.slices):
        span = f"{clock(first.at_unix_ns)}–{clock(last.at_unix_ns)}"
        who = issuers_within(found, first, last)
        issued = f" · issued by {issuers_said(who)}" if who else ""
        rows.append((first.at_unix_ns, wrap(f"{span} {slice_said(first)}{issued}", width, "  ", "    ")))
    for event in found.events:
        said = f"{clock(event.at_unix_ns)} event · {event.layer} · {event.says}"
        rows.append((event.at_unix_ns, wrap(said, width, "  ", "    ")))
    for begin, end in found.gaps:
        rows.append((begin, wrap(f"{clock(begin)}–{clock(end)} nothing was kept", width, "  ", "    ")))
    for _, text in sorted(rows, key=lambda row: row[0]):
        lines += text
    return "\n".join(lines)


def stretches(slices: Sequence[Slice]) -> list[tuple[Slice, Slice]]:
    """(first, last) of those in a row that say the same."""
    found: list[tuple[Slice, Slice]] = []
    for one in slices:
        before = found[-1] if found else None
        if before is not None and (before[0].kind, before[0].layer, before[0].cause) == (
            one.kind,
            one.layer,
            one.cause,
        ):
            found[-1] = (before[0], one)
        else:
            found.append((one, one))
    return found


def issuers_within(found: LookBack, first: Slice, last: Slice) -> tuple[SliceIssuer, ...]:
    """Who issued in the slices from one to another, who came first, first."""
    # A day has 17,000 slices at 5 s, and may have thousands of stretches.
    begin = bisect_left(found.slices, first.at_unix_ns, key=lambda one: one.at_unix_ns)
    end = bisect_right(found.slices, last.at_unix_ns, key=lambda one: one.at_unix_ns)
    return tuple(dict.fromkeys(who for one in found.slices[begin:end] for who in one.issuers))


def issuer_said(one: SliceIssuer) -> str:
    """``postgres/100 (container …/docker-3f2a….scope)``."""
    more = " ".join(filter(None, (one.kind, group_said(one.group) if one.group.strip("/") else "")))
    return f"{clean(one.label)} ({more})" if more else clean(one.label)


def issuers_said(issuers: Sequence[SliceIssuer], most: int = 2) -> str:
    """The first of them, and how many more."""
    more = f" and {len(issuers) - most} more" if len(issuers) > most else ""
    return f"{', '.join(map(issuer_said, issuers[:most]))}{more}"


def slice_said(one: Slice) -> str:
    """``share · the wire carries no more · confidence 0.71``."""
    if one.kind is VerdictKind.INCONCLUSIVE:
        return f"{words.KIND[one.kind]} · {one.headline}"
    where = "" if one.layer is None else f"{one.layer} · "
    return f"{where}{one.headline} · confidence {one.confidence:.2f}"


def clock(unix_ns: int) -> str:
    """``14:05:30``, local time."""
    return datetime.datetime.fromtimestamp(unix_ns / units.NS_PER_S).astimezone().strftime("%H:%M:%S")
