"""One measurement from its preparation to its result: the page cache as asked, the job, and what was in force.

Preparing and carrying out are two calls, so that whoever samples counters samples the measurement alone.
"""

from __future__ import annotations

import io
import json
import mmap
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from strata import _core, units
from strata.engine.native import said
from strata.engine.port import Elsewhere, Engine, OnInterval, Request
from strata.errors import RunFailed
from strata.model.caching import Residency, check, compare, sync_in_effect
from strata.model.endpoint import EndpointKind
from strata.model.plan import Segment, clipped
from strata.model.result import EngineResult
from strata.model.workload import Cache

CACHED_HERE = frozenset({EndpointKind.FILE, EndpointKind.BLOCK})
"""Endpoints whose pages are in this machine's page cache."""

Spans = tuple[tuple[int, int], ...]
"""(first byte, end) of pieces of a target."""

SPANS_MAX = 1024
"""Each costs a few system calls before and after every measurement."""


@dataclass(frozen=True)
class Prepared:
    """A job that can start now. ``before`` are the pages in memory, ``unknown`` why they are not known.

    ``cached``: path and pieces of each target whose pages are in this machine's page cache.
    """

    request: Request
    cached: tuple[tuple[str, Spans], ...]
    before: Residency | None
    unknown: str | None
    held: ExitStack = field(default_factory=ExitStack)
    """A block device forgets its pages when its last opener closes it: open from here to the end."""


def prepare_cell(request: Request) -> Prepared:
    """Bring the page cache into the state that is asked, and read it back.

    A cold measurement has no ramp: what the ramp read would be warm. Cold: the file is written out and its pages
    are dropped (`posix_fadvise`); never the whole machine's caches. Warm: its blocks are read through once. With
    several targets all of them are brought into the state, and what is read back is of all of them together.
    Raises `UsageError` where the state cannot be had, `RunFailed` when the file cannot be opened.
    """
    workload = request.workload
    for aim in request.pieces:
        check(aim.endpoint, workload)
    if workload.cache is Cache.COLD:
        cold = request.timing.model_copy(update={"ramp_s": 0.0})
        request = request.model_copy(update={"timing": cold})
    cached = tuple(
        (aim.endpoint.opened, spans_of(clipped(aim.segments, workload.range)))
        for aim in request.pieces
        if aim.endpoint.kind in CACHED_HERE
    )
    names = {aim.endpoint.opened: aim.endpoint.path or "" for aim in request.pieces}
    with ExitStack() as held:
        for path, spans in cached:
            try:
                if request.endpoint.kind is EndpointKind.BLOCK and not workload.direct:
                    held.enter_context(io.FileIO(os.open(path, os.O_RDONLY | os.O_CLOEXEC)))
                into_state(path, spans, workload.cache)
            except OSError as e:
                raise RunFailed("cannot prepare the page cache for", names[path], said(e)) from e
        before, unknown = residency_of_all(cached)
        return Prepared(request, cached, before, unknown, held.pop_all())


def into_state(path: str, spans: Sequence[tuple[int, int]], cache: Cache) -> None:
    """Drops the pages of the file, or reads these pieces of it; nothing where they stay as they are. `OSError`."""
    if cache is Cache.COLD:
        _drop(path)
    elif cache is Cache.WARM:
        _read_through(path, spans)


def drop_pages(path: str, size: int) -> float:
    """The file is written out and leaves the page cache; the share of its pages that are there still. `OSError`."""
    _drop(path)
    found, _ = residency(path, [(0, size)])
    return found.resident / found.pages if found is not None and found.pages else 0.0


def _drop(path: str) -> None:
    # All of it: a folio is dropped only as a whole, and may begin before the first block.
    _core.drop_cached(path, 0, 1 << 62)


def run_cell(
    engine: Engine,
    prepared: Prepared,
    on_interval: OnInterval | None = None,
    stop_requested: Callable[[], bool] = lambda: False,
) -> EngineResult:
    """Carry it out, with what was asked of caches and what was in force in the result. Raises as `Engine.run`."""
    endpoint = prepared.request.endpoint
    with prepared.held:
        result = engine.run(prepared.request, on_interval, stop_requested)
        if isinstance(engine, Elsewhere):
            before, after, unknown = engine.pages
        else:
            after, unknown = residency_of_all(prepared.cached)
            before, unknown = prepared.before, prepared.unknown or unknown
    refused = any(e.name in ("EOPNOTSUPP", "ENOTSUP") for e in result.write.errors)
    caching = compare(
        prepared.request.workload,
        direct=bool(result.effective.get("direct")),
        sync=sync_in_effect(str(result.effective.get("sync")), refused),
        before=before,
        after=after,
        unknown=unknown,
        read_bytes=result.read.bytes,
        local=endpoint.kind in CACHED_HERE,
    )
    return result.model_copy(update={"caching": caching})


def residency_of_all(targets: Sequence[tuple[str, Spans]]) -> tuple[Residency | None, str | None]:
    """Pages of all these targets together, or why that is not known; neither where there are none."""
    found = []
    for path, spans in targets:
        one, unknown = residency(path, spans) if spans else (None, None)
        if unknown is not None:
            return None, unknown
        found += [one] if one is not None else []
    return (sum_of(found) if found else None), None


def sum_of(found: Sequence[Residency]) -> Residency:
    """Of at least one, all together."""
    told = [one.unwritten for one in found if one.unwritten is not None]
    return Residency(
        pages=sum(one.pages for one in found),
        resident=sum(one.resident for one in found),
        unwritten=sum(told) if len(told) == len(found) else None,
        page_bytes=found[0].page_bytes,
    )


def residency(path: str, spans: Sequence[tuple[int, int]]) -> tuple[Residency | None, str | None]:
    """Pages of these (first byte, end) in memory, or why that is not known."""
    if len(spans) > SPANS_MAX:
        return None, f"the blocks lie in {units.count(len(spans))} extents, too many to query one by one"
    page = mmap.PAGESIZE
    pages = resident = unwritten = 0
    told = True
    try:
        for start, end in spans:
            state = json.loads(_core.cache_state(path, start, end - start))
            pages += -(-end // page) - start // page
            resident += state["resident"] // page
            told = told and state["unwritten"] is not None
            unwritten += (state["unwritten"] or 0) // page
    except OSError as e:
        return None, said(e)
    return Residency(pages=pages, resident=resident, unwritten=unwritten if told else None, page_bytes=page), None


def spans_of(segments: Sequence[Segment]) -> Spans:
    """Where the blocks are at the target, neighbours as one."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted((s.target, s.target + s.length) for s in segments):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return tuple(spans)


def _read_through(path: str, spans: Sequence[tuple[int, int]]) -> None:
    buffer = bytearray(units.MIB)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for start, end in spans:
            at = start
            while at < end and (got := os.preadv(fd, [memoryview(buffer)[: end - at]], at)):
                at += got
    finally:
        os.close(fd)
