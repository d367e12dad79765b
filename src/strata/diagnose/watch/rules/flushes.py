"""Commits: the load waits for flushes; and requests that are split.

Evidence: the time of flushes at the device, by its own counter, beside that of writes; splits by a trace.
"""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.diagnose.watch import off_block
from strata.diagnose.watch.claim import Claim, Not
from strata.diagnose.watch.off_block import BLOCK
from strata.diagnose.watch.view import LoadView
from strata.model.finding import Cause

SHARE = 0.4
"""Of the time that requests spend at the device."""
CLEAR = 0.6
EMPTY = 0.2
"""Requests without data, for each one with data, from which on commits wait for flushes that they share."""
SPLIT = 0.5
"""Splits of each I/O."""
EXPLAINED = 0.75
"""Of the rate that the parts' own time gives: a device that does less is held by something else."""


def judge(view: LoadView) -> Iterator[Claim | Not | str]:
    """Of the device that the requests enter first."""
    yield from _flushes(view)
    yield from _splits(view)
    yield from _misaligned(view)


def _flushes(view: LoadView) -> Iterator[Claim | Not]:
    disk = view.disk
    if disk is None or not disk.flushes or disk.flush_ns is None or disk.flushes < 0.5:
        return
    waiting = disk.flushes * disk.flush_ns / 1e9
    counted = (disk.reads, disk.read_ns), (max(0.0, disk.writes - disk.flushes), disk.write_ns)
    data = sum(n * (ns or 0.0) for n, ns in counted) / 1e9
    if (traced := _data_in_flight(view)) is not None and view.in_flight is not None:
        # Whoever waits for a flush that others share has an empty write in flight, which counts among the writes. One
        # flush runs at a time, so it waits for two of them at the most: more than that is no flush's time.
        empty = 2 * (view.iops - _traced_rate(view)) * disk.flush_ns / 1e9
        waiting, data = max(waiting, min(view.in_flight - traced, empty)), traced
    share = waiting / (waiting + data) if waiting + data > 0 else 0.0
    name = view.device_name or ""
    if share < SHARE:
        yield Not(Cause.SLOW_FLUSH, f"flushes take {units.percent(share, 2)} of the time of requests at {name}")
        return
    yield Claim(
        Cause.SLOW_FLUSH,
        0.85 if share >= CLEAR and waiting >= 0.3 else 0.6,
        share,
        f"a flush takes {units.duration(disk.flush_ns)}, {units.percent(share, 2)} of the requests at {name} wait "
        f"for one",
        f"The load commits: {units.count(disk.flushes)} flushes per second, each {units.duration(disk.flush_ns)}. "
        "Each commit waits for the flush.",
        "Commit several writes at once, or give the device a write cache that survives a loss of power.",
        (
            f"{name}: {units.count(disk.flushes)} flushes per second of {units.duration(disk.flush_ns)}; "
            f"{units.significant(waiting, 2)} requests wait for them and {units.significant(data, 2)} carry data",
        ),
        what=name,
    )


def _data_in_flight(view: LoadView) -> float | None:
    """Requests with data in flight, mean, by what was traced; None where the counter has no others."""
    disk, rate = view.disk, _traced_rate(view)
    took = [t for a in view.arrivals if a.requests is not None for t in a.requests.took_us]
    if disk is None or not took or rate <= 0 or view.iops < (1 + EMPTY) * rate:
        return None
    return rate * sum(took) / len(took) / 1e6


def _traced_rate(view: LoadView) -> float:
    seconds = sum(a.seconds for a in view.arrivals)
    return sum(a.summary.read.requests + a.summary.write.requests for a in view.arrivals) / seconds if seconds else 0.0


def _splits(view: LoadView) -> Iterator[Claim | Not]:
    entered = sum(a.summary.read.entered + a.summary.write.entered for a in view.arrivals)
    if not entered:
        return
    each = sum(a.summary.splits for a in view.arrivals) / entered
    if each < SPLIT:
        yield Not(Cause.SPLITS, f"{units.significant(each, 2)} splits of each I/O")
        return
    name = view.device_name or ""
    own = _parts_explain(view)
    if own is not None and own < EXPLAINED:
        yield Not(
            Cause.SPLITS,
            f"the time that the parts themselves take would give {1 / own:.2g} times as many of them at {name}",
        )
        return
    moved = sum(a.summary.read.bytes + a.summary.write.bytes for a in view.arrivals)
    parts = sum(a.summary.read.requests + a.summary.write.requests for a in view.arrivals)
    yield Claim(
        Cause.SPLITS,
        0.72 if each >= 2 else 0.6,
        each / (each + 1),
        f"each I/O is split into {each + 1:.2g} requests at {name}",
        f"{name} takes requests of {units.size(moved / max(parts, 1))} on average and the load issues larger ones: "
        "each I/O costs as many requests, and waits for the last of them.",
        f"Raise /sys/block/{name}/queue/max_sectors_kb, or issue I/O of that size.",
        (f"{name}: {units.significant(each, 2)} splits of each I/O that entered",),
        what=name,
    )


def _parts_explain(view: LoadView) -> float | None:
    """The rate at the device, of that which as many in flight get by the specified time of one; None without one."""
    if view.spec is None or view.in_flight is None or view.iops <= 0:
        return None
    at_once = min(max(view.in_flight, 1.0), view.spec.at_once)
    return view.iops * view.spec.service_ns(view.size) / 1e9 / at_once


def _misaligned(view: LoadView) -> Iterator[Claim | Not]:
    """A device that begins between the blocks of what is below it, and a load that waits for it: in its queue, or one
    request after the other.
    """
    name, disk = off_block.device(view), view.disk
    if name is None or disk is None or view.in_flight is None or (view.busy or 0.0) < 0.8:
        return
    if view.in_flight < 1.5 and not off_block.slows(view):
        return
    at, spec = view.seen.starts[name], view.spec
    writes = disk.writes / view.iops if view.iops else 0.0
    if view.in_flight < 1.5:
        slower = spec is not None
        waits = " Each request waits for these reads, and the next one is issued when it is done."
    else:
        slower = spec is not None and view.iops * spec.service_ns(view.size) / 1e9 < 0.8 * spec.at_once
        waits = ""
    yield Claim(
        Cause.MISALIGNED,
        (0.72 if slower else 0.55) if writes > 0.1 else 0.5,
        0.5,
        f"{name} begins at byte {at}, between two blocks of what is below it",
        f"{name} begins at byte {at}, which is no multiple of {units.size(BLOCK)}: a request touches one block more "
        f"than it needs, and a write that does not cover a block is preceded by a read of it.{waits}",
        f"Create {name} again with its start at a multiple of 1 MiB.",
        (f"{name}: begins at byte {at}; {units.percent(writes, 2)} of the requests are writes",),
        ("what the same load gives when it is aligned",),
        what=name,
    )
