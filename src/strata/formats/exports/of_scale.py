"""The points of a sweep as a table."""

from __future__ import annotations

from collections.abc import Iterator

from strata.formats.exports.sheet import Field, Sheet, bounds, columns, interval
from strata.formats.exports.tables import utc
from strata.model.percentiles import SHOWN_PERCENTILES
from strata.model.scale import ScaleResult

COLUMNS = columns(
    f"""
run text
created_utc text = created
host text
where text
layer text
workload text
axis text
value count
threads count
outstanding count
size_bytes count = size [B]
{bounds("iops", "iops")}
{bounds("bytes_per_second", "rate", "B/s")}
mean_ns = time.mean [ns]
p50_ns = time.p50 [ns]
p90_ns = time.p90 [ns]
p99_ns = time.p99 [ns]
rounds count
ios count
seconds = seconds [s]
busiest text
busiest_share
"""
)


def sheet(*sweeps: ScaleResult) -> Sheet:
    """A row a point."""
    return Sheet.of(COLUMNS, (row for found in sweeps for row in _rows(found)))


def _rows(found: ScaleResult) -> Iterator[tuple[Field, ...]]:
    head = (found.run, utc(found.created_unix_ns), found.environment.get("hostname"), found.where)
    for p in found.points:
        w, busy = p.workload, p.busy[0] if p.busy else None
        times = [e.value if (e := p.latency_ns.get(name)) is not None else None for name in SHOWN_PERCENTILES]
        yield (
            *head,
            p.layer,
            None if w is None else w.key,
            found.ask.axis.value,
            p.value,
            p.value if w is None else w.threads,
            p.outstanding,
            None if w is None else w.bs,
            *interval(p.iops),
            *interval(p.bytes_per_second),
            None if p.mean_ns is None else p.mean_ns.value,
            *times,
            p.rounds,
            p.ios,
            p.seconds,
            None if busy is None else busy.of,
            None if busy is None else busy.share,
        )
