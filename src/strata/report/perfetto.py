"""Sampled requests as Chrome's trace events: a JSON document that Perfetto (ui.perfetto.dev), chrome://tracing and
speedscope open.

A process for each kind of request, a lane (its thread) for each of those that were in flight at one time. A request is
a slice with its segments in it; times are µs of CLOCK_MONOTONIC, as the format asks. Slices are pairs of events (``B``,
``E``), not complete ones (``X``): where one segment ends and the next begins is then one number. A begin and a length
are two, whose sum is rounded, and viewers take a segment that ends after the next has begun for a fault.
"""

from __future__ import annotations

import json
from typing import Any

from strata.model.trace import TraceResult
from strata.model.waterfall import SampledRequest, Waterfall
from strata.report.waterfall_lines import group_name, layer_name

_NS_PER_US = 1000.0


def perfetto_json(result: TraceResult) -> str:
    """The document. The result has a waterfall."""
    waterfall = result.waterfall
    assert waterfall is not None
    began = result.recording.began_ns if result.recording is not None else 0
    events: list[dict[str, Any]] = []
    for number, group in enumerate(waterfall.groups):
        pid = number + 1
        events.append(_named("process_name", pid, 0, group_name(group)))
        requests = [s for s in waterfall.samples if s.group == number]
        lanes = _lanes(requests)
        events += [_named("thread_name", pid, lane, f"requests in flight {lane}") for lane in sorted(set(lanes))]
        for request, lane in zip(requests, lanes, strict=True):
            events += _request(waterfall, request, pid, lane, began)
    about = {"tool": "strata trace", "where": result.where, "clock": "CLOCK_MONOTONIC", "whole": result.whole}
    document = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}
    # Perfetto shows an escape as it is written.
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _named(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _lanes(requests: list[SampledRequest]) -> list[int]:
    """The lowest lane in which nothing is in flight, by when they begin (they are in that order)."""
    free_at: list[int] = []
    found = []
    for request in requests:
        lane = next((i for i, at in enumerate(free_at) if at <= request.at_ns), len(free_at))
        free_at[lane : lane + 1] = [request.at_ns + request.ns]
        found.append(lane + 1)
    return found


def _request(waterfall: Waterfall, one: SampledRequest, pid: int, lane: int, began: int) -> list[dict[str, Any]]:
    def edge(ph: str, name: str, at: int, category: str, **args: object) -> dict[str, Any]:
        ts = (began + one.at_ns + at) / _NS_PER_US
        return {"ph": ph, "name": name, "cat": category, "pid": pid, "tid": lane, "ts": ts, "args": args}

    def whole(ph: str, at: int) -> dict[str, Any]:
        deed = waterfall.groups[one.group].deed.value
        return edge(ph, deed, at, "request", thread=f"{one.comm}/{one.tid}", slowest=one.slow)

    parts = [
        edge(ph, layer_name(waterfall.layers[layer]), at, part.value, part=part.value)
        for layer, part, begin, ns in one.segments
        for ph, at in (("B", begin), ("E", begin + ns))
    ]
    return [whole("B", 0), *parts, whole("E", one.ns)]
