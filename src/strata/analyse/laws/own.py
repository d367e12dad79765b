"""One of our own runs as a table, so that it is checked against the same laws as everybody else's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from strata.analyse.laws import cache
from strata.analyse.laws.base import CROSSES, STAYS, RunView, percentile_of
from strata.analyse.rounds import CellRounds
from strata.model.access import Interlocked
from strata.model.analysis import CellSummary, Comparison, edge_share
from strata.model.endpoint import EndpointKind
from strata.model.expect import COUNTS, Faster
from strata.model.figures import Dimension, Figure, Role, Row, Table, exact
from strata.model.plan import Segment, clipped, round_words
from strata.model.stack import Layer, Stack
from strata.model.workload import OpenLoop, Sync, Workload

LOCAL = (EndpointKind.FILE, EndpointKind.BLOCK)
SERVES = 0.1
"""Bytes for each byte of the application from which on a device serves it, and up to which a wire carries heads."""
CHANCE = 5.0
"""Standard errors by which the mean of drawn sizes may differ from what was asked."""


def table_of(run: RunView) -> Table:
    """Cells, their rounds, their comparisons, and what was asked of the engine beside what it did."""
    rows: list[Row] = []
    for cell in run.cells:
        rows += [_cell(run, cell), *_rounds(run.of(cell)), *_asked(run, cell)]
    rows += [r for c in run.comparisons if (r := _comparison(run, c)) is not None]
    rows += [r for layer in run.plan.stack.layers if (r := _stated(run, layer)) is not None]
    noise = exact(run.noise.tolerance, Dimension.SHARE)
    return Table(name=run.plan.stack.name, rows=tuple(rows), figures={"noise": noise})


def _stated(run: RunView, layer: Layer) -> Row | None:
    """How many parts a layer has, as the stack says, and the most that was kept outstanding there."""
    said: dict[str, int | None] = {key: getattr(layer.expect, key) for key in COUNTS}
    if said["nodes"] is not None and said["paths"] is None:
        said["paths"] = _paths(run.plan.stack, layer)
    figures = {f"count.{key}": exact(many) for key, many in said.items() if many is not None}
    if not figures:
        return None
    full = [c.workload.outstanding for c in run.cells if c.layer == layer.name and c.workload.saturates]
    if full:
        figures["outstanding"] = exact(max(full))
    return Row(name=layer.name, words={"layer": layer.name}, figures=figures)


def _paths(stack: Stack, layer: Layer) -> int | None:
    """The paths that it stands on where it says that these are paths; else the hosts by which it is reached."""
    if layer.expect.faster is Faster.PATHS and layer.on:
        return len(layer.on)
    over = (one for one in stack.layers if layer.name in one.on and one.target.remote)
    return len({host for one in over if (host := urlsplit(one.endpoint).hostname)}) or None


def _name(layer: str, key: str) -> str:
    return f"{layer}/{key}"


def _words(layer: str, w: Workload) -> dict[str, str]:
    # The engine splits a sequential range: no two threads share a position unless it is asked for.
    return {
        "layer": layer,
        "workload": w.key,
        "pattern": w.pattern,
        "caching": "off" if w.direct else "on",
        "loop": "open" if isinstance(w.arrival, OpenLoop) else "closed" if w.saturates else "held",
        "ranges": "shared" if isinstance(w.order, Interlocked) else "own",
    }


def _cap(w: Workload) -> float | None:
    """The rate that was asked for, in I/Os a second."""
    if isinstance(w.arrival, OpenLoop):
        return w.arrival.iops
    if (limits := w.arrival.limits) is None:
        return None
    by_bytes = None if limits.bytes_per_s is None else limits.bytes_per_s / w.bs_moments[0]
    return min((x for x in (limits.iops, by_bytes) if x is not None), default=None)


def _size(w: Workload, ios: int) -> Figure:
    """Bytes of one I/O: the mean, and what it may be by chance where sizes are drawn."""
    mean, deviation = w.bs_moments
    if not deviation:
        return exact(mean, Dimension.BYTES)
    chance = CHANCE * deviation / math.sqrt(max(1, ios))
    return exact(mean, Dimension.BYTES, low=mean - chance, high=mean + chance)


def _cell(run: RunView, cell: CellSummary) -> Row:
    w = cell.workload
    figures = {
        "size": _size(w, cell.ios),
        "depth": exact(w.arrival.iodepth),
        "threads": exact(w.threads * w.clients),
        "iops": exact(cell.iops.value, low=cell.iops.low, high=cell.iops.high),
        "in_flight": exact(cell.outstanding),
        "ios": exact(cell.ios),
        "rounds": exact(cell.rounds),
        "time.mean": exact(cell.mean_ns.value, Dimension.TIME),
    }
    figures |= {
        f"time.p{p}": exact(e.value, Dimension.TIME) for p, e in cell.latency_ns.items() if percentile_of(f"p{p}")
    }
    if (edge := edge_share(cell, run.of(cell).results)) is not None:
        figures["edge"] = exact(edge, Dimension.SHARE)
    if w.rwmixread is not None:
        figures |= _directions(run.of(cell))
    if (cap := _cap(w)) is not None:
        figures["cap"] = exact(cap)
    buffered = not w.direct and run.plan.stack.layer(cell.layer).target.kind in LOCAL
    if buffered and run.memory and run.plan.file_size:
        whole = Segment(start=0, length=run.plan.file_size, target=0)
        figures["file"] = exact(sum(s.length for s in clipped((whole,), w.range)), Dimension.BYTES)
        figures["cache"] = exact(run.memory, Dimension.BYTES)
    if cell.cpu_busy is not None:
        figures["busy"] = exact(cell.cpu_busy, Dimension.SHARE)
    words = _words(cell.layer, w)
    if cell.device_read_bytes_per_byte is not None and not w.rw.writes:
        figures["reached"] = exact(cell.device_read_bytes_per_byte)
        words["witness"] = _witness(run, cell)
    return Row(name=_name(cell.layer, w.key), words=words, figures=figures)


def _directions(rounds: CellRounds) -> dict[str, Figure]:
    """The I/Os in flight of reads, of writes and of flushes, which make the whole."""
    results = [r.result for r in rounds.results if r.result is not None]
    span_ns = sum(r.measured_ns for r in results)
    busy = {"read": sum(r.read.service_sum_ns for r in results), "write": sum(r.write.service_sum_ns for r in results)}
    if any(r.sync is not None for r in results):
        busy["sync"] = sum(r.sync.service_sum_ns for r in results if r.sync is not None)
    return {f"in_flight.{word}": exact(ns / span_ns) for word, ns in busy.items()} if span_ns else {}


def _witness(run: RunView, cell: CellSummary) -> str:
    """Whose the sampled device is.

    A file is on its own device where no other file lies below (one in a file system of a cluster has none of its own),
    a device where it is among those that were sampled: a run of an earlier version sampled those under the file alone.
    """
    stack = run.plan.stack
    layer = stack.layer(cell.layer)
    under = stack.stands_on(layer)
    if any(one.expect.faster is Faster.CACHE for one in (layer, *under)):
        return cache.NONE
    if layer.target.kind is EndpointKind.FILE and all(one.target.kind is EndpointKind.BLOCK for one in under):
        return cache.OWN
    named = any(result.devices for result in run.of(cell).results)
    if layer.target.kind is EndpointKind.BLOCK and (named or Path(layer.target.path or "").name in cell.devices):
        return cache.OWN
    by = {(c.layer, c.workload.key): c.device_read_bytes_per_byte or 0.0 for c in run.cells}
    local = [one.name for one in under if one.target.kind in LOCAL]
    reached = any(by.get((name, cell.workload.key), 0.0) >= cache.SHARE for name in local)
    return cache.BELOW if reached else cache.NONE


def _rounds(rounds: CellRounds) -> Iterator[Row]:
    w = rounds.workload
    for value, result in zip(rounds.values, rounds.results, strict=True):
        figures = {
            "iops": exact(value.iops),
            "rate": exact(value.bytes_per_second, Dimension.RATE),
            "size": _size(w, value.ios),
        }
        if result.result is not None and result.result.seconds > 0:
            for word, side in (("read", result.result.read), ("write", result.result.write)):
                figures[f"iops.{word}"] = exact(side.ops / result.result.seconds)
                figures[f"rate.{word}"] = exact(side.bytes / result.result.seconds, Dimension.RATE)
        words = _words(rounds.layer, w) | {"round": round_words(value.round)}
        yield Row(name=f"{_name(rounds.layer, w.key)} {round_words(value.round)}", words=words, figures=figures)


def _asked(run: RunView, cell: CellSummary) -> Iterator[Row]:
    """What the open file was read back as, where the engine opened one."""
    if run.plan.stack.layer(cell.layer).target.kind not in LOCAL:
        return
    results = [r.result for r in run.of(cell).results if r.result is not None]
    if any(r.caching is not None for r in results):
        return  # What was in force was compared when it was measured: the law on caching tells it.
    effective = next((r.effective for r in results), {})
    if "direct" not in effective or "sync" not in effective:
        return
    w, name = cell.workload, _name(cell.layer, cell.workload.key)
    sync = w.sync.value if w.rw.carries else Sync.NONE.value
    where = {"layer": cell.layer, "workload": w.key, "test": name}
    asked = where | {"caching": "off" if w.direct else "on", "sync": sync}
    done = where | {
        "caching": "off" if effective["direct"] else "on",
        "sync": str(effective["sync"]) if w.rw.carries else Sync.NONE.value,
    }
    yield Row(name=name, role=Role.PLANNED, words=asked)
    yield Row(name=name, words=done)


def _comparison(run: RunView, one: Comparison) -> Row | None:
    cells = {c.layer: c for c in run.cells if c.workload.key == one.workload_key}
    upper, lower = cells[one.layer], cells[one.below]
    if one.iops.low is None or one.iops.high is None:
        return None
    w = upper.workload
    ratio = Figure(value=one.iops.value, low=one.iops.low, high=one.iops.high)
    words = {"layer": one.layer, "workload": one.workload_key, "below": one.below}
    words["caching"] = "off" if w.direct else "on"
    # What scatters more than the rest of the run may agree in the few rounds that both have.
    words["apart"] = "yes" if (upper.iops.low or math.inf) > (lower.iops.high or 0.0) else "no"
    stack = run.plan.stack
    layer = stack.layer(one.layer)
    # Each thread has a connection of its own.
    several = layer.target.remote and w.threads > 1
    # A server may make several writes durable with one flush, which who asks for each by itself below cannot.
    together = layer.target.remote and w.outstanding > 1 and w.durable
    reason = several or together or _nearer_copy(run, one, w)
    words["bound"] = "no" if reason or stack.may_be_faster(layer, stack.layer(one.below)) else "yes"
    return Row(name=_name(one.layer, one.workload_key), words=words, figures={"ratio.below": ratio})


def _nearer_copy(run: RunView, one: Comparison, w: Workload) -> bool:
    """Whether the layer below read from a copy behind a wire what this one read from a copy at hand.

    Which copy of a mirror serves a read is chosen by each reader (btrfs: by its process id), so that neither way is
    part of the other. Shown by the bytes: a wire carried them below, where another device gave them, and none here,
    where devices gave all of them that serve the layer below, too. Without another device below, this layer passes a
    layer by, or reads another file.
    """
    by = {(c.layer, c.workload.key): c for c in run.cells}
    here, below = (by.get((name, one.workload_key)) for name in (one.layer, one.below))
    if here is None or below is None or w.rw.writes:
        return False
    given, cells = _gave(here, SERVES), [c for c in run.cells if c.layer == one.below and c.workload.rw.reads]
    whole = sum(d.read_bytes_per_byte or 0.0 for d in here.resources.disks) >= CROSSES
    near = whole and given <= set().union(*(_gave(c, SERVES) for c in cells)) and _most_crossed(here) < SERVES
    return near and bool(_gave(below, STAYS) - given) and _most_crossed(below) >= STAYS


def _gave(cell: CellSummary, least: float) -> set[tuple[str | None, str]]:
    """The devices that gave so much of each byte of the application."""
    return {(d.node, d.device) for d in cell.resources.disks if (d.read_bytes_per_byte or 0.0) >= least}


def _most_crossed(cell: CellSummary) -> float:
    """Bytes on the busiest wire for each byte of the application."""
    each = (b for card in cell.resources.cards for b in (card.sent_per_byte, card.received_per_byte) if b is not None)
    return max(each, default=0.0)
