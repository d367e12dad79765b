"""From a workload and an endpoint to the one job that is handed to the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from strata import units
from strata.errors import UsageError
from strata.model.base import Value
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.placement import Placement
from strata.model.plan import Segment
from strata.model.workload import OpenLoop, Workload


class Timing(Value):
    """Seconds. The ramp is run and not counted; intervals cut the measured span. ``stop_with_interval``: a stop that is
    asked for waits for the end of the interval it falls into, where the engine can."""

    ramp_s: float
    runtime_s: float
    interval_s: float = 1.0
    stop_with_interval: bool = False


def build_job(
    endpoint: Endpoint,
    workload: Workload,
    segments: Sequence[Segment],
    timing: Timing,
    *,
    allow_write: bool = False,
    round_index: int = 0,
    placement: Placement | None = None,
) -> dict[str, Any]:
    """The engine's job JSON (schema 1) as a dictionary.

    ``allow_write`` opens a block device for writing; whether that is allowed is decided by the safety gate,
    not here. Each round draws other random offsets (the seed is mixed with ``round_index``); the layers of one
    round draw the same, so that they are asked for the same blocks.
    Raises `UsageError` when a raw device is asked to be written to without ``allow_write``.
    """
    if endpoint.kind is EndpointKind.BLOCK and workload.rw.writes and not allow_write:
        raise UsageError("cannot write to", endpoint.uri, "raw devices are read-only", "see --destructive")
    arrival = workload.arrival
    rate = {"iops": arrival.iops, "process": arrival.process} if isinstance(arrival, OpenLoop) else None
    return {
        "schema": 1,
        "target": _target(endpoint, workload, allow_write),
        "workload": {
            "rw": workload.rw.value,
            "bs": workload.bs,
            "rwmixread": 50 if workload.rwmixread is None else workload.rwmixread,
            "iodepth": arrival.iodepth,
            "threads": workload.threads,
            "seed": seed_of(workload, round_index),
            "rate_iops": rate,
            "segments": [{"start": s.start, "length": s.length, "target": s.target} for s in segments],
        },
        "ramp_ns": round(timing.ramp_s * units.NS_PER_S),
        "runtime_ns": round(timing.runtime_s * units.NS_PER_S),
        "interval_ns": round(timing.interval_s * units.NS_PER_S),
        "engine": "auto",
    } | (placement.job if placement is not None else {})


def _target(endpoint: Endpoint, workload: Workload, allow_write: bool) -> dict[str, Any]:
    sync = workload.sync.value
    match endpoint.kind:
        case EndpointKind.NULL:
            return {"kind": "null"}
        case EndpointKind.FILE:
            return {"kind": "file", "path": endpoint.path, "direct": workload.direct, "sync": sync}
        case EndpointKind.BLOCK:
            base = {"kind": "block", "path": endpoint.path, "direct": workload.direct, "sync": sync}
            return base | ({"allow_write": True} if allow_write else {})
        case EndpointKind.NBD:
            return {"kind": "nbd", "uri": endpoint.uri, "connections": endpoint.connections, "sync": sync}


def seed_of(workload: Workload, round_index: int) -> int:
    digest = hashlib.blake2b(f"{workload.seed}:{workload.key}:{round_index}".encode(), digest_size=7).digest()
    return int.from_bytes(digest, "big")
