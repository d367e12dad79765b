"""Several clients as one: every figure comes from one structure, the rows of intervals that all of them have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

from strata.model import histogram
from strata.model.clients.outliers import enough, outliers
from strata.model.clients.overlap import Overlap, overlap_of, parts_of
from strata.model.clients.values import Clients, Done, Evenness, OneClient, Skew, Together
from strata.model.result import (
    ClientResult,
    Direction,
    EngineResult,
    ErrorCount,
    Instants,
    Interval,
    IntervalDirection,
    LostClient,
)

_WORST = ("error", "stuck", "lease", "stopped", "bytes", "ios", "runtime")
"""Why a run ended, what matters most first."""
STARVED = 0.5
"""Of the median rate: below it a client is starved. The law of threads has the same line."""


def clients_of(result: EngineResult) -> Clients | None:
    """Of a result that several clients made; None of any other."""
    return merged(result.clients, result.lost) if result.clients else None


def merged(clients: Sequence[ClientResult], lost: Sequence[LostClient] = ()) -> Clients:
    """What they did together, each of them, and how alike they were. The clients that were ``lost`` are in no sum but
    ``before_loss``."""
    found = overlap_of(parts_of(clients))
    overlap = None if isinstance(found, str) else found
    each = _each(clients, overlap)
    rates = {one.client: one.iops for one in each if one.iops is not None}
    together = None if overlap is None else _together(overlap)
    return Clients(
        together=together,
        why_not=found if isinstance(found, str) else None,
        each=each,
        lost=tuple(lost),
        before_loss=_before_loss(clients, lost),
        fairness=_fairness(rates),
        start_skew=_skew(clients),
        first_done=_done(clients, first=True),
        last_done=_done(clients, first=False),
        outliers=outliers(each),
        judged=enough(len(rates)),
    )


def pooled(clients: Sequence[ClientResult], lost: Sequence[LostClient] = ()) -> EngineResult | str:
    """One result of all of them over the common time, as if one generator had measured it; or why there is none.

    What exists of whole runs alone (times from the intended start, of the submit call, lag) is in it only where no
    interval of any client lies outside the common time.
    """
    overlap = overlap_of(parts_of(clients))
    if isinstance(overlap, str):
        return overlap
    results = [c.result for c in clients if c.result.intervals and c.result.instants is not None]
    intervals = _series(overlap)
    whole = all(len(r.intervals) == len(overlap.rows) for r in results)
    worst = min(results, key=lambda r: _WORST.index(r.stop_reason) if r.stop_reason in _WORST else 0)
    flushes = any(r.sync is not None for r in results)

    def payloads(get: Callable[[EngineResult], str | None]) -> str | None:
        return histogram.merge(get(r) for r in results) if whole else None

    def direction(of: Callable[[Any], Any]) -> Direction:
        parts = [part for i in intervals if (part := of(i)) is not None]
        return Direction(
            ops=sum(p.ops for p in parts),
            bytes=sum(p.bytes for p in parts),
            errors=_errors([d for r in results if (d := of(r)) is not None]),
            service_time=histogram.merge(p.service_time for p in parts),
            response_time=payloads(lambda r: getattr(of(r), "response_time", None)),
            submit_latency=payloads(lambda r: getattr(of(r), "submit_latency", None)),
            service_sum_ns=sum(p.service_sum_ns for p in parts),
        )

    first = results[0]
    return EngineResult(
        engine={**first.engine, "clients": len(results)},
        effective=first.effective,
        started_unix_ns=min(r.started_unix_ns for r in results),
        instants=_instants(overlap),
        ramp_ns=first.ramp_ns,
        measured_ns=intervals[-1].end_ns,
        stop_reason=worst.stop_reason,
        message=next((r.message for r in results if r.message is not None), None),
        issued=sum(r.issued for r in results),
        completed=sum(r.completed for r in results),
        errored=sum(r.errored for r in results),
        stuck=sum(r.stuck for r in results),
        stuck_ios=tuple(io for r in results for io in r.stuck_ios),
        read=direction(lambda x: x.read),
        write=direction(lambda x: x.write),
        sync=direction(lambda x: x.sync) if flushes else None,
        intervals=intervals,
        threads=tuple(t for r in results for t in r.threads),
        cpu={key: _sum(r.cpu.get(key) for r in results) for key in first.cpu},
        lag=payloads(lambda r: r.lag),
        clients=tuple(clients),
        lost=tuple(lost),
    )


def summed(parts: Iterable[IntervalDirection | None]) -> IntervalDirection:
    """One direction of several clients in one interval."""
    there = [p for p in parts if p is not None]
    return IntervalDirection(
        ops=sum(p.ops for p in there),
        bytes=sum(p.bytes for p in there),
        errors=sum(p.errors for p in there),
        service_time=histogram.merge(p.service_time for p in there),
        service_sum_ns=sum(p.service_sum_ns for p in there),
    )


def _series(overlap: Overlap) -> tuple[Interval, ...]:
    """The rows as intervals that follow each other; the length of one is the mean of its clients'."""
    found, begun = [], 0
    for row in overlap.rows:
        length = round(sum(i.end_ns - i.start_ns for i in row) / len(row))
        flushes = any(i.sync is not None for i in row)
        found.append(
            Interval(
                start_ns=begun,
                end_ns=begun + length,
                read=summed(i.read for i in row),
                write=summed(i.write for i in row),
                sync=summed(i.sync for i in row) if flushes else None,
            )
        )
        begun += length
    return tuple(found)


def _together(overlap: Overlap) -> Together:
    intervals = _series(overlap)
    ops = sum(i.read.ops + i.write.ops for i in intervals)
    size = sum(i.read.bytes + i.write.bytes for i in intervals)
    times = histogram.merge(p.service_time for i in intervals for p in (i.read, i.write))
    spent = sum(i.read.service_sum_ns + i.write.service_sum_ns for i in intervals)
    each = [_rates([row[n] for row in overlap.rows]) for n in range(len(overlap.parts))]
    begun = min(part.from_ns + overlap.rows[0][n].start_ns for n, part in enumerate(overlap.parts))
    ended = max(part.from_ns + overlap.rows[-1][n].end_ns for n, part in enumerate(overlap.parts))
    return Together(
        clients=tuple(part.of.client for part in overlap.parts),
        from_ns=max(overlap.from_ns, begun),
        to_ns=min(overlap.to_ns, ended),
        bound_ns=overlap.bound_ns,
        ops=ops,
        bytes=size,
        iops=sum(iops for iops, _ in each),
        bytes_per_second=sum(rate for _, rate in each),
        mean_ns=spent / ops if ops else None,
        p99_ns=histogram.quantiles(times, [0.99])[0] if times else None,
        service_time=times,
    )


def _rates(intervals: Sequence[Interval]) -> tuple[float, float]:
    seconds = sum(i.end_ns - i.start_ns for i in intervals) / 1e9
    ops = sum(i.read.ops + i.write.ops for i in intervals)
    size = sum(i.read.bytes + i.write.bytes for i in intervals)
    return (ops / seconds, size / seconds) if seconds else (0.0, 0.0)


def _each(clients: Sequence[ClientResult], overlap: Overlap | None) -> tuple[OneClient, ...]:
    rows = {} if overlap is None else {p.of.client: [r[n] for r in overlap.rows] for n, p in enumerate(overlap.parts)}
    told = [(c, i) for c in clients if (i := c.result.instants) is not None]
    firsts = {c.client: i.first_io_ns - c.offset_ns for c, i in told if i.first_io_ns is not None}
    ends = {c.client: i.measured_to_ns - c.offset_ns for c, i in told}
    earliest, soonest = min(firsts.values(), default=0), min(ends.values(), default=0)
    found = []
    for one in clients:
        own = rows.get(one.client)
        times = None if own is None else histogram.merge(p.service_time for i in own for p in (i.read, i.write))
        ops = sum(i.read.ops + i.write.ops for i in own or ())
        spent = sum(i.read.service_sum_ns + i.write.service_sum_ns for i in own or ())
        iops, rate = (None, None) if own is None else _rates(own)
        first, end = firsts.get(one.client), ends.get(one.client)
        found.append(
            OneClient(
                client=one.client,
                node=one.node,
                iops=iops,
                bytes_per_second=rate,
                mean_ns=spent / ops if ops else None,
                p99_ns=histogram.quantiles(times, [0.99])[0] if times else None,
                whole_iops=one.result.iops,
                whole_seconds=one.result.seconds,
                after_ns=None if first is None else first - earliest,
                done_ns=None if end is None else end - soonest,
                stop_reason=one.result.stop_reason,
            )
        )
    return tuple(found)


def _before_loss(clients: Sequence[ClientResult], lost: Sequence[LostClient]) -> Together | None:
    parts = parts_of([*clients, *lost])
    if not lost or len(parts) < len(clients) + len(lost):
        # Of one that was lost before its first interval nothing is known.
        return None
    found = overlap_of(parts)
    return None if isinstance(found, str) else _together(found)


def _fairness(rates: dict[int, float]) -> Evenness | None:
    total, squares = sum(rates.values()), sum(x * x for x in rates.values())
    if len(rates) < 2 or not squares:
        return None
    middle = median(rates.values())
    slowest = min(rates, key=lambda client: rates[client])
    return Evenness(
        jain=min(1.0, total * total / (len(rates) * squares)),
        spread=(max(rates.values()) - min(rates.values())) * len(rates) / total,
        slowest=slowest,
        slowest_share=rates[slowest] / middle if middle else 0.0,
        starved=tuple(client for client, x in rates.items() if x < STARVED * middle),
    )


def _skew(clients: Sequence[ClientResult]) -> Skew | None:
    told = [(c, c.result.instants) for c in clients if c.result.instants is not None]
    firsts = [i.first_io_ns - c.offset_ns for c, i in told if i.first_io_ns is not None]
    lasts = [i.last_first_io_ns - c.offset_ns for c, i in told if i.last_first_io_ns is not None]
    if not firsts:
        return None
    bounds = sorted((c.bound_ns for c, _ in told), reverse=True)
    return Skew(ns=max(lasts) - min(firsts), bound_ns=sum(bounds[:2]))


def _done(clients: Sequence[ClientResult], *, first: bool) -> Done | None:
    """Everything until the first client was done, or the last: whole intervals, the one that was cut by its share."""
    parts = parts_of(clients)
    if not parts:
        return None
    begun = min(part.from_ns for part in parts)
    until = (min if first else max)(part.to_ns for part in parts)
    ops = size = 0.0
    for part in parts:
        for one in part.intervals:
            begins, ends = part.from_ns + one.start_ns, part.from_ns + one.end_ns
            share = 1.0 if ends <= until else max(0.0, (until - begins) / (ends - begins))
            ops += share * (one.read.ops + one.write.ops)
            size += share * (one.read.bytes + one.write.bytes)
    seconds = (until - begun) / 1e9
    done = sum(part.to_ns <= until for part in parts)
    rates = (ops / seconds, size / seconds) if seconds > 0 else (0.0, 0.0)
    return Done(done=done, seconds=seconds, ops=round(ops), bytes=round(size), iops=rates[0], bytes_per_second=rates[1])


def _instants(overlap: Overlap) -> Instants:
    told = [(p, p.of.result.instants) for p in overlap.parts if isinstance(p.of, ClientResult)]
    each = [(i, p.of.offset_ns) for p, i in told if i is not None]
    firsts = [i.first_io_ns - off for i, off in each if i.first_io_ns is not None]
    lasts = [i.last_first_io_ns - off for i, off in each if i.last_first_io_ns is not None]
    starts = [i.start_at_ns - off for i, off in each if i.start_at_ns is not None]
    return Instants(
        start_at_ns=min(starts, default=None),
        late_ns=max((i.late_ns for i, _ in each), default=0),
        first_io_ns=min(firsts, default=None),
        last_first_io_ns=max(lasts, default=None),
        measured_from_ns=overlap.from_ns,
        measured_to_ns=overlap.to_ns,
    )


def _errors(directions: Sequence[Direction]) -> tuple[ErrorCount, ...]:
    found: dict[int, ErrorCount] = {}
    for one in (e for d in directions for e in d.errors):
        known = found.get(one.errno)
        found[one.errno] = one if known is None else known.model_copy(update={"count": known.count + one.count})
    return tuple(found.values())


def _sum(values: Iterable[int | None]) -> int | None:
    there = list(values)
    return None if any(v is None for v in there) else sum(v for v in there if v is not None)
