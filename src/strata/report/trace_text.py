"""A block trace as a terminal page, and in short for beside a measurement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from strata import units
from strata.model.resources import place
from strata.model.times import Times
from strata.model.trace import (
    DeviceTrace,
    Half,
    NodeWindow,
    Order,
    OrderSummary,
    Threads,
    TraceRecording,
    TraceResult,
    TraceSummary,
)
from strata.report import figures
from strata.report.text_layout import Paint, clean, field, table, wrap
from strata.report.waterfall_text import waterfall_lines

_LABEL = 13
_BAR = "█"
_LENGTHS_TOLD = 4
_SLOWEST_TOLD = 5
_WIDE = 120


def trace_text(result: TraceResult, width: int, color: bool = False) -> str:
    """The whole of it in at most ``width`` columns, without a trailing newline."""
    paint, f = Paint(color), result.figures
    head = f"{clean(result.where)} · {units.duration(f.window_ns)} · {_plural(f.events, 'event')}"
    out = paint.lines(wrap(head, width), "bold")
    style = "yellow" if result.whole else "red"
    for note in result.notes:
        out += paint.lines(field("note", note, width, column=_LABEL), style)
    if result.absent_events:
        out += field("absent", f"events that this kernel does not provide: {', '.join(result.absent_events)}", width)
    if result.waterfall is not None:
        out += ["", *waterfall_lines(result.waterfall, width, paint)]
    for device in f.devices:
        out += ["", *_device(device, *result.window_of(device.target), width, paint)]
    out += [""] if result.recording is not None or result.nodes else []
    if result.recording is not None:
        out += field("recorder", _recorder(result.recording), width, column=_LABEL)
    if result.nodes:
        first = min(one.recording.began_ns for one in result.nodes)
        for one in result.nodes:
            out += field(clean(one.node or "this machine"), _window(one, first), width, column=_LABEL)
    if result.saved:
        out += field("saved", f"{result.saved}: strata trace --from {result.saved}", width, column=_LABEL)
    return "\n".join(out)


def _recorder(told: TraceRecording) -> str:
    r = told.recorder
    said = (
        f"{units.count(r.records)} records in {units.count(r.pages)} pages, none lost; "
        if told.whole
        else f"{units.count(r.records)} records; lost: {units.count(told.losses.events)} counted; "
    )
    cost = f"reading took {units.percent(told.reader_share, 2)} of one CPU, writing about "
    return said + cost + units.percent(told.event_share, 2)


def _window(one: NodeWindow, first_ns: int) -> str:
    """Of one machine: where its window lies among the others', how well that is known, and what recording took."""
    began = units.duration(one.recording.began_ns - first_ns)
    where = f"traced for {units.duration(one.window_ns)}, began {began} after the first"
    if one.node is not None:
        where += f", ±{units.duration(one.bound_ns)} by its clock"
    absent = f"; events that its kernel does not provide: {', '.join(one.absent_events)}" if one.absent_events else ""
    return f"{where}; {_recorder(one.recording)}{absent}"


def _device(d: DeviceTrace, window_ns: int, whole: bool, width: int, paint: Paint) -> list[str]:
    line = partial(field, width=width, column=_LABEL)
    seconds = window_ns / units.NS_PER_S
    rate = f"{units.count(d.requests / seconds)} IOPS, {units.rate(d.bytes / seconds)}" if seconds else "no time"
    head = f"{place(d.target.name, d.target.node)} · {d.target.role} · {_plural(d.requests, 'request')} · {rate}"
    out = paint.lines(wrap(head, width), "bold")
    if not d.requests and not d.entered:
        return [*out, *line("", "only flushes and other requests without data" if d.depth else "no requests")]
    halves = [(name, h) for name, h in (("reads", d.read), ("writes", d.write)) if h.issued.ios or h.entered.ios]
    mark = "" if whole else " ≈"
    for label, row in _rows(halves, mark):
        out += line(label, row) if len(halves) == 1 else []
    if len(halves) == 2:
        out += _two(halves, mark, width)
    for name, half in halves:
        out += line("lengths" if len(halves) == 1 else f"  {name}", _lengths(half))
    out += line("per I/O", _parts(d))
    if d.flush:
        out += line("flushes", f"{units.count(d.flush.count)}, {_times(d.flush)}")
    others = [(d.discards, "discard"), (d.others, "other request"), (d.requeues, "requeue"), (d.errors, "error")]
    if said := ", ".join(_plural(n, word) for n, word in others if n):
        out += line("also", said)
    depth = (
        f"{units.significant(d.mean_depth or 0, 2)} at the device on average when a request is issued, {d.max_depth} "
        "at most"
    )
    edges = [f"{units.count(d.began_before)} started before the trace"] if d.began_before else []
    edges += [f"{units.count(d.under_way)} not completed at its end"] if d.under_way else []
    out += line("depth", depth + (f" ({'; '.join(edges)})" if edges else ""))
    out += line("issued by", _threads(d.issuing))
    if {t.tid for t in d.entering.busiest} != {t.tid for t in d.issuing.busiest}:
        out += line("submitted by", _threads(d.entering))
    out += _seeks(d.all, width)
    if width >= _WIDE:
        out += _slowest(d, width)
    elif d.slowest:
        s = d.slowest[0]
        said = f"{s.op} of {units.size(s.bytes)}, {units.duration(s.service_ns)} at depth {s.depth}"
        out += line("slowest", f"{said}, {units.duration(s.at_ns)} after the start")
    return out


def _rows(halves: Sequence[tuple[str, Half]], mark: str) -> list[tuple[str, str]]:
    """(what, its text) of one direction; with two, the same words as columns."""
    name, half = halves[0]
    order = half.issued.order
    rows = [(name, f"{units.count(half.issued.ios)} requests, {units.size(half.issued.bytes)}")]
    rows += [("service", _times(half.service))] if half.service else []
    rows += [("wait", _times(half.wait) + " before it was issued")] if half.wait else []
    rows += [("scheduler", _times(half.scheduler) + " of it")] if half.scheduler else []
    if order.strict_share is not None:
        said = f"{_share(order.strict_share)}{mark} strictly sequential, {_share(order.windowed_share)}{mark} "
        said += f"sequential to one of the last 16, {_share(order.backward_share)}{mark} backward"
        rows += [("order", said), ("reordered", _reordered(order, mark))]
    return rows


def _two(halves: Sequence[tuple[str, Half]], mark: str, width: int) -> list[str]:
    columns = [_column(half, mark) for _, half in halves]
    rows = [[what, *(column[what] for column in columns)] for what in columns[0]]
    return table(["", *(n for n, _ in halves)], rows, width, numeric=frozenset({1, 2}))


def _column(half: Half, mark: str) -> dict[str, str]:
    """One direction beside the other: each figure by what it is."""
    order = half.issued.order
    return {
        "requests": units.count(half.issued.ios),
        "bytes": units.size(half.issued.bytes),
        "service p50": _one(half.service, "p50"),
        "service p99": _one(half.service, "p99"),
        "wait p50": _one(half.wait, "p50"),
        "strictly sequential": _share(order.strict_share) + mark,
        "sequential to one of the last 16": _share(order.windowed_share) + mark,
        "backward": _share(order.backward_share) + mark,
        "out of order": _share(order.reordered_share) + mark,
        "late by at most": _plural(order.max_extent, "I/O") if order.reordered else "–",
        "streams": str(order.streams),
    }


def _reordered(order: Order, mark: str) -> str:
    streams = _plural(order.streams, "sequential stream")
    if not order.streams:
        return "no sequential stream"
    if not order.reordered:
        return f"none{mark} of {streams}"
    mean = units.significant(order.mean_extent or 0, 2)
    share = f"{_share(order.reordered_share)}{mark} out of order in {streams}"
    return f"{share}, late by {mean} I/Os on average, {order.max_extent} at most"


def _parts(d: DeviceTrace) -> str:
    if not d.entered:
        return "no submission was recorded"
    ratio = units.significant(d.requests / d.entered)
    said = f"{ratio} requests for each submitted I/O ({units.count(d.entered)})"
    cut = f"{_plural(d.splits, 'split')}, {_plural(d.merges + d.request_merges, 'merge')}"
    return f"{said}: {cut}" + (", issued as submitted: this device has no request queue" if d.target.by_bio else "")


def _lengths(half: Half) -> str:
    top = sorted(half.issued.lengths, key=lambda pair: -pair[1])[:_LENGTHS_TOLD]
    total = half.issued.ios or 1
    said = ", ".join(f"{units.size(size)} {_share(n / total)}" for size, n in top)
    more = len(half.issued.lengths) - len(top)
    return (said or "none") + (f" and {more} more" if more > 0 else "")


def _threads(t: Threads) -> str:
    if t.threads == 0:
        return "no submitter was recorded"
    top = ", ".join(f"{clean(b.comm) or '?'}/{b.tid} {units.count(b.ios)}" for b in t.busiest[:4])
    more = f" and {t.threads - 4} more" if t.threads > 4 else ""
    each = f"; {units.significant(t.per_window, 2)} different ones in 16 consecutive requests" if t.per_window else ""
    return f"{_plural(t.threads, 'thread')}: {top}{more}{each}"


def _seeks(order: Order, width: int) -> list[str]:
    """The distances as bars; neighbouring powers of two of one sign are joined in threes."""
    if not order.seeks:
        return []
    joined: list[tuple[int, int, int]] = []
    for b in order.seeks:
        if joined and b.from_bytes and joined[-1][0] and (b.from_bytes > 0) == (joined[-1][0] > 0):
            low, high, n = joined[-1]
            near, far = min(abs(low), abs(b.from_bytes)), max(abs(high), abs(b.to_bytes))
            if far <= 64 * near:
                sign = 1 if b.from_bytes > 0 else -1
                joined[-1] = (sign * near, sign * far, n + b.count)
                continue
        joined.append((b.from_bytes, b.to_bytes, b.count))
    total = sum(n for *_, n in joined)
    room = max(10, min(60, width - _LABEL - 40))
    out = field(
        "seeks",
        f"distance from the end of one request to the start of the next ({units.count(total)})",
        width,
        column=_LABEL,
    )
    for low, high, n in joined:
        words = (
            "none"
            if low == 0
            else (f"{units.size(abs(low))}–{units.size(abs(high))} {'forward' if low > 0 else 'back'}")
        )
        bar = _BAR * max(1, round(room * n / total))
        out.append(f"{'':{_LABEL + 4}}{words:<24}{_share(n / total):>7}  {bar}".rstrip()[:width])
    return out


def _slowest(d: DeviceTrace, width: int) -> list[str]:
    rows = [
        (
            units.duration(s.service_ns),
            s.op,
            units.size(s.bytes),
            f"byte {s.offset_bytes}",
            "–" if s.wait_ns is None else units.duration(s.wait_ns),
            str(s.depth),
            units.duration(s.at_ns),
            f"{clean(s.comm) or '?'}/{s.tid}",
        )
        for s in d.slowest[:_SLOWEST_TOLD]
    ]
    head = ("slowest", "what", "length", "where", "waited", "depth", "at", "issued by")
    return table(head, rows, width, numeric=frozenset({0, 2, 4, 5, 6})) if rows else []


def _times(t: Times) -> str:
    p99 = f", p99 {units.duration(t.p99_ns)}" if t.count >= 1000 else ""
    return f"p50 {units.duration(t.p50_ns)}{p99}, mean {units.duration(t.mean_ns)}, at most {units.duration(t.max_ns)}"


def _one(t: Times | None, which: str) -> str:
    if t is None or (which == "p99" and t.count < 1000):
        return "–"
    return units.duration(t.p50_ns if which == "p50" else t.p99_ns)


def _plural(n: int, word: str) -> str:
    return f"{units.count(n)} {word}" if n == 1 else f"{units.count(n)} {word}s"


def _share(share: float | None) -> str:
    return "–" if share is None else figures.percent(share)


_SOME = 0.01
"""Fewer requests per I/O than this are others'."""


def summary_lines(traces: Sequence[TraceSummary], width: int) -> list[str]:
    """A line or two for each device, in at most ``width`` columns."""
    out: list[str] = []
    for t in traces:
        parts = [
            *(_direction("reads", t.read) if t.read.requests else ()),
            *(_direction("writes", t.write) if t.write.requests else ()),
        ]
        if t.requests_per_io is not None and t.requests_per_io >= _SOME:
            parts.append(f"{units.significant(t.requests_per_io)} requests per I/O")
        if t.mean_depth is not None:
            parts.append(f"depth {units.significant(t.mean_depth, 2)}")
        if t.dispatchers is not None:
            parts.append(f"{units.significant(t.dispatchers, 2)} issuing threads in 16 requests")
        told = "" if t.whole else " (events were lost: figures cover the recorded ones)"
        role = "" if t.role == "device" else f", {t.role}"
        out += field("trace", f"{t.called}{role}: {'; '.join(parts) or 'no requests'}{told}", width, column=12)
    return out


def _direction(name: str, o: OrderSummary) -> list[str]:
    if o.strict_share is None:
        return [f"{name} too few to judge their order"]
    late = ""
    if o.reordered_share is not None and o.reordered_share >= _SOME / 10:
        late = f", {figures.percent(o.reordered_share)} out of order by up to {figures.plural(o.max_extent, 'I/O')}"
    return [f"{name} {figures.percent(o.strict_share)} strictly sequential{late}"]
