"""A commit waits long for a flush of the medium.

What it claims
    A durable write waits for a flush of the device, and the flush takes a large part of its time; or a layer makes
    each such write durable together with more than its data (a journal, metadata), which the device writes too.
Why it matters
    Databases and logs commit one write after another. Reads, and writes that nothing waits for, are as fast as ever.
Evidence it needs
    Operational: flushes of the device (``blockdev_flush_seconds`` ÷ ``blockdev_flushes``), or of the load generator,
    take at least 30 % of a write with its flush, and 0.5 ms or more, in most of the write workloads. Differential:
    writes compared with reads of the same size and depth at the same layer, or with the same writes without a flush.
    For a layer over another: for a durable write the same device gets 1.3 times as much work or more as for the layer
    below, and is busy for 1.5 times as long, but not so for reads; the loss follows from that.
What rules it out
    Flushes whose time grows with the bytes before them (then a write cache drains); fast flushes; none.
What to do next
    Fewer commits, each of several writes (group commit). Only where the cache survives a power loss, let the device
    report that: it then flushes nothing. A device of its own for the log; a separate journal device for a file system
    whose server commits every write. A medium or controller whose cache survives a power loss.
How sure
    By the flush's share of a write, and by the experiment without it.
Example
    One write of 8 KiB takes 10.5 ms where a read takes 2.5 ms: a flush takes 8.0 ms of it. A write of 8 KiB through a
    share takes 8.0 ms where the file system takes 2.7 ms: its disk is busy for 7.3 ms instead of 2.5 ms, as the server
    commits data, journal and inode one after the other.
Source
    The kernel's documentation of volatile caches (Documentation/block/writeback_cache_control) and of the block
    statistics (Documentation/block/stat: flush requests and ticks).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from strata import units
from strata.diagnose import flushing, observe, rows
from strata.diagnose.case import Case, Pair, Station
from strata.diagnose.evidence import differential, operational
from strata.diagnose.flushing import DurableWrite, Flushed
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.registry import Range
from strata.model.experiment import Experiment, Metric
from strata.model.finding import Cause, Evidence
from strata.model.workload import Sync

CAUSE = Cause.SLOW_FLUSH
PRECEDENCE = 22
LEAST_SHARE, LEAST_S, MOST_OF = 0.3, 5e-4, 0.5
MODEL_OFF = 0.2
"""Of what the device's time predicts, on logs: it says nothing of what a layer does beside it."""


def judge(case: Case) -> Iterator[Opinion]:
    """At the lowest layer whose writes show it, blamed on the lowest layer of its device."""
    for station in case.stations:
        cells = flushing.flushed(station)
        slow = tuple(f for f in cells if f.share >= LEAST_SHARE and f.flush >= LEAST_S)
        if not slow or len(slow) < MOST_OF * len(cells):
            continue
        layer = flushing.lowest(case, station, slow[0].device)
        if (rate := flushing.by_bytes(cells)) is not None:
            yield Opinion(False, f"its time grows with the bytes that are waiting: {units.rate(rate)}", layer=layer)
        else:
            yield _opinion(station, layer, slow, len(cells))
        return


def judge_pair(pair: Pair) -> Opinion | None:
    """Of a layer whose commits take more of the device than those below it."""
    slow = {p.key for p in pair.view.affected}
    found = tuple(c for c in flushing.committed(pair.view) if c.point.key in slow)
    if not found:
        return None
    reads = flushing.reads_cost(pair.view)
    if reads is not None and reads >= flushing.MORE:
        return Opinion(False, f"reads, too, keep the device busy {units.significant(reads, 2)} times as long")
    told = [_row(one) for one in found]
    cover = rows.cover(told, [c.point for c in found])
    if cover < MOST_OF:
        return Opinion(False, f"the device's work for a commit explains {units.percent(cover, 2)} of the loss")
    return _of_pair(pair, found, told, cover)


def _row(one: DurableWrite) -> rows.Predicted:
    wanted = one.point.x_below / one.more
    return rows.Predicted(one.point, wanted * math.exp(-MODEL_OFF), wanted * math.exp(MODEL_OFF))


def _of_pair(pair: Pair, found: tuple[DurableWrite, ...], told: list[rows.Predicted], cover: float) -> Opinion:
    view, mine = pair.view, found
    one = min(mine, key=lambda c: (c.point.n, c.point.bs))
    layer, below, more = view.layer.name, view.below.name, units.significant(one.more, 2)
    busy, beneath = units.duration(one.busy_ns), units.duration(one.below_ns)
    return observe.shown(
        view,
        [c.point for c in mine],
        f"in {units.plural(len(mine), 'workload')} {one.device} is busy {observe.times([c.more for c in mine])} "
        f"times as long per write as at {below}",
        title=f"a commit through {layer} takes {more} times as much of {one.device} as one below",
        explanation=f"{one.point.workload.label}: {one.device} is busy for {busy} per write, and for {beneath} at "
        f"{below}: each commit makes more than the data durable, such as the journal and the inode.",
        next_step="Put the file system's journal on a separate fast device, or use a medium whose cache survives a "
        f"power loss; let clients commit several writes at once. A write could be up to {more} times as fast.",
        strength=min(1.0, cover),
        lead=3.0 * len(mine),
        rows=told,
    )


def predict(case: Case, opinion: Opinion, experiment: Experiment) -> Range | None:
    """Without flushes the time that they take is gone."""
    w = experiment.workload
    if experiment.prediction.metric != Metric.RATIO or w.sync is not Sync.NONE or w.fsync or w.fdatasync:
        return None
    for station in case.stations:
        for f in flushing.flushed(station):
            if f.cell.workload.key == experiment.reference and station.layer.name == experiment.layer:
                gain = 1 / max(0.02, 1 - f.share)
                return max(1.5, gain / 1.5), gain * 2
    return None


def _opinion(station: Station, layer: str, slow: tuple[Flushed, ...], of: int) -> Opinion:
    one = min(slow, key=lambda f: f.cell.workload.outstanding)
    flush, share = units.duration(one.flush * 1e9), units.percent(one.share, 2)
    where = one.device or station.layer.name
    gain = units.significant(1 / max(0.02, 1 - one.share), 2)
    return Opinion(
        weight=Weight.SHOWN,
        title=f"a commit waits {flush} for a flush of {where}",
        explanation=f"{one.cell.workload.label}: a write takes {units.duration(one.whole * 1e9)}, of which {where} "
        f"flushes for {flush} ({share}).",
        next_step="Put the log on a medium or controller whose cache survives a power loss, or commit several writes "
        f"at once; without its flush a write would be up to {gain} times as fast.",
        cells=frozenset(f.cell.workload.key for f in slow),
        strength=min(1.0, 0.5 + 0.7 * float(np.median([f.share for f in slow]))),
        lead=2.0 * len(slow),
        evidence=(_beside_reads(station, slow), _counted(station, slow, of)),
        layer=layer,
        loss=sum(-math.log(max(0.02, 1 - f.share)) for f in slow) / len(station.cells),
    )


def _counted(station: Station, slow: tuple[Flushed, ...], of: int) -> Evidence:
    most = max(slow, key=lambda f: f.share)
    who = "the generator's own flushes take" if most.device is None else f"flushes of {most.device} take"
    return operational(
        f"{most.cell.workload.label}: {who} {units.duration(most.flush * 1e9)} each, "
        f"{units.significant(most.per_write, 2)} per write; they matter in {len(slow)} of {of} write workloads",
        [f.cell for f in slow],
    )


def _beside_reads(station: Station, slow: tuple[Flushed, ...]) -> Evidence:
    """The writes beside reads of the same size and depth, where there are any; else beside the same without a flush."""
    for f in sorted(slow, key=lambda f: f.cell.workload.outstanding):
        w = f.cell.workload
        for other in station.cells:
            o = other.workload
            if not o.rw.writes and (o.bs, o.outstanding, o.rw.random) == (w.bs, w.outstanding, w.rw.random):
                return differential(
                    f"{w.label}: {units.count(f.cell.iops.value)} IOPS, reads of the same size and depth "
                    f"give {units.count(other.iops.value)}",
                    (f"{station.layer.name}/{w.key}", f"{station.layer.name}/{o.key}"),
                )
    one = slow[0]
    rest = one.whole * (1 - one.share)
    return differential(
        f"{one.cell.workload.label}: {units.duration(one.whole * 1e9)} with its flush, "
        f"{units.duration(rest * 1e9)} without",
        [one.cell],
    )
