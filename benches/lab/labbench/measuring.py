"""One cell, one round: load on a layer, with the lab's counters read right before and right after."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import TypeVar

from labbench.reading import Reading, between, read
from labbench.rows import Round, Row
from strata.analyse.stats import estimate
from strata.engine import Request, Timing, engine_for, engine_of, file_extents, file_segments, on_device
from strata.errors import RunFailed
from strata.model import histogram
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.estimate import Estimate
from strata.model.plan import Segment
from strata.model.rw import Rw
from strata.model.stack import Layer, Stack
from strata.model.workload import ClosedLoop, Workload
from strata_lab.parts.disk import DiskControl

KIB = 1 << 10
Key = TypeVar("Key")


def asked(name: str, rw: Rw, bs: int, depth: int) -> tuple[str, Workload]:
    """(its name, the workload): unbuffered."""
    return name, Workload(rw=rw, bs=bs, arrival=ClosedLoop(iodepth=depth))


WORKLOADS = (
    asked("sequential write, 8 KiB, depth 8", Rw.WRITE, 8 * KIB, 8),
    asked("random read, 8 KiB, depth 8", Rw.RANDREAD, 8 * KIB, 8),
    asked("random write, 8 KiB, depth 8", Rw.RANDWRITE, 8 * KIB, 8),
    asked("random read, 256 KiB, depth 4", Rw.RANDREAD, 256 * KIB, 4),
    asked("random write, 256 KiB, depth 4", Rw.RANDWRITE, 256 * KIB, 4),
)


@dataclass(frozen=True)
class Place:
    """A layer where it can be driven: one endpoint, or several that are driven at once."""

    layer: Layer
    endpoints: tuple[Endpoint, ...]
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Counted:
    """Whose counters are read: the nodes' namespaces by name, the lab's processes by their token, its disks."""

    nodes: Mapping[str, str]
    token: str
    media: tuple[DiskControl, ...]

    def read(self) -> Reading:
        """Now."""
        return read(self.nodes, self.token, self.media)


def places(stack: Stack, data: Path, fs_kind: str, disks: Sequence[str] = ()) -> list[Place]:
    """Every layer with its blocks. ``data``: the file that all reach; ``disks``: URIs that are driven at once.

    Raises `RunFailed` for a layer that holds other data.
    """
    size, found = data.stat().st_size, []
    for layer in stack.layers:
        endpoint = stack.endpoint_of(layer)
        segments: Sequence[Segment] = file_segments(size)
        if endpoint.kind is EndpointKind.BLOCK:
            layout = on_device(file_extents(data, fs_kind), str(endpoint.path))
            if layout.device is None:
                raise RunFailed("cannot map the file to", str(endpoint.path), layout.reason or "unknown")
            segments = layout.device
        found.append(Place(layer, (endpoint,), tuple(segments)))
    if disks:
        last = stack.layers[-1]
        name = f"{len(disks)} disks, one queue each"
        layer = last.model_copy(update={"name": name, "endpoint": disks[0]})
        netns = stack.endpoint_of(last).netns
        ends = tuple(Endpoint.parse(uri).model_copy(update={"netns": netns}) for uri in disks)
        found.append(Place(layer, ends, file_segments(size)))
    return found


def once(place: Place, workload: Workload, timing: Timing, number: int, counted: Counted) -> Round:
    """One round. The counters span ramp and drain too, so they are divided by all bytes that were completed.

    The depth of the workload is dealt out among several endpoints. Raises `RunFailed` when an I/O failed.
    """
    many = len(place.endpoints)
    arrival = workload.arrival
    assert isinstance(arrival, ClosedLoop)
    shared = workload.model_copy(update={"arrival": ClosedLoop(iodepth=max(1, arrival.iodepth // many))})
    requests = [
        Request(
            endpoint=endpoint,
            workload=shared,
            segments=place.segments,
            timing=timing,
            round_index=number,
            allow_write=workload.rw.writes and endpoint.kind is EndpointKind.BLOCK,
        )
        for endpoint in place.endpoints
    ]
    own = _own_s()
    first = counted.read()
    if many == 1:
        results = [engine_for("auto", place.endpoints).run(requests[0])]
    else:
        with ThreadPoolExecutor(many) as pool:
            results = list(pool.map(lambda r: engine_of("native", None).run(r), requests))
    spent = between(first, counted.read())
    own = _own_s() - own
    for result in results:
        if result.errored or result.stuck or not result.ops:
            errors = ", ".join(f"{e.count} × {e.name}" for e in (*result.read.errors, *result.write.errors))
            why = result.message or errors or f"{result.stuck} stuck, {result.ops} done"
            raise RunFailed("I/O failed at", place.layer.name, why)
    moved = sum(r.completed for r in results) * workload.bs
    payload = histogram.merge([d.service_time for r in results for d in (r.read, r.write)])
    assert payload is not None
    p50, p99 = histogram.quantiles(payload, [0.5, 0.99])
    return Round(
        iops=sum(r.iops for r in results),
        p50_ns=p50,
        p99_ns=p99,
        sent={name: sent / moved for name, sent in spent.sent.items()},
        sent_by_all=spent.sent_by_all / moved,
        media=spent.media_bytes / moved,
        kernel_cycles=spent.kernel_s * clock_hz() / moved,
        path_cycles=spent.path_s * clock_hz() / moved,
        own_cycles=own * clock_hz() / moved,
        samples=sum(r.ops for r in results),
        others_busy=max(0.0, spent.busy_s - spent.path_s - own) / spent.seconds,
    )


def rows(stack: str, workload: str, cells: Mapping[str, Sequence[Round]], layers: Sequence[Layer]) -> list[Row]:
    """Estimates of every layer under one workload; ``cells``: its rounds in order, by the layer's name.

    The spread of a figure is pooled over the layers, as few rounds say little of their own.
    """

    def all_of(unit: str, value: Callable[[Round], float]) -> dict[str, Estimate]:
        return _estimates(unit, {name: [value(r) for r in rounds] for name, rounds in cells.items()})

    iops, p50, p99 = all_of("1/s", lambda r: r.iops), all_of("ns", lambda r: r.p50_ns), all_of("ns", lambda r: r.p99_ns)
    kernel, path = all_of("cycles/B", lambda r: r.kernel_cycles), all_of("cycles/B", lambda r: r.path_cycles)
    others = all_of("1", lambda r: r.others_busy)
    nodes = next(iter(cells.values()))[0].sent

    # Not pooled: a share that is nearly zero has no spread that says anything of the others'.
    def each(value: Callable[[Round], float]) -> dict[str, Estimate]:
        return {name: estimate([value(r) for r in rounds], "1") for name, rounds in cells.items()}

    sent = {node: each(lambda r, node=node: r.sent[node]) for node in nodes}  # type: ignore[misc]
    sent_by_all, media = each(lambda r: r.sent_by_all), each(lambda r: r.media)
    pairs = {
        (a.name, b): [mine.iops / below.iops for mine, below in zip(cells[a.name], cells[b], strict=True)]
        for a in layers
        for b in a.against
    }
    against = _estimates("1", pairs)
    return [
        Row(
            stack=stack,
            layer=layer.name,
            node=layer.node or "",
            workload=workload,
            iops=iops[layer.name],
            p50=p50[layer.name],
            p99=p99[layer.name],
            sent={node: by_layer[layer.name] for node, by_layer in sent.items()},
            sent_by_all=sent_by_all[layer.name],
            media=media[layer.name],
            kernel_cycles=kernel[layer.name],
            path_cycles=path[layer.name],
            others_busy=others[layer.name],
            against={b: against[layer.name, b] for b in layer.against},
            samples=sum(r.samples for r in cells[layer.name]),
        )
        for layer in layers
    ]


def _estimates(unit: str, cells: Mapping[Key, Sequence[float]]) -> dict[Key, Estimate]:
    spreads = [stdev(map(log, v)) for v in cells.values() if len(v) > 1 and min(v) > 0]
    pooled = sqrt(fmean(x * x for x in spreads)) if spreads else None
    return {key: estimate(v, unit, pooled if min(v) > 0 else None) for key, v in cells.items()}


def clock_hz() -> float:
    """Nominal clock of the processors; there are no counters of cycles to read, so cycles are time times this."""
    text = Path("/proc/cpuinfo").read_text()
    return max(float(line.split(":")[1]) for line in text.splitlines() if line.startswith("cpu MHz")) * 1e6


def _own_s() -> float:
    now = os.times()
    return now.user + now.system
