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
from strata.model.workload import ClosedLoop, OpenLoop, Workload
from strata.model.workload_options import MIX_READS, PLAIN


class Timing(Value):
    """Seconds. The ramp is run and not counted; intervals cut the measured span. ``stop_with_interval``: a stop that is
    asked for waits for the end of the interval it falls into, where the engine can."""

    ramp_s: float
    runtime_s: float
    interval_s: float = 1.0
    stop_with_interval: bool = False


class Piece(Value):
    """One more target of a workload and the blocks of it that are used."""

    endpoint: Endpoint
    segments: tuple[Segment, ...]


def build_job(
    endpoint: Endpoint,
    workload: Workload,
    segments: Sequence[Segment],
    timing: Timing,
    *,
    allow_write: bool = False,
    round_index: int = 0,
    placement: Placement | None = None,
    more: Sequence[Piece] = (),
) -> dict[str, Any]:
    """The engine's job JSON (schema 1) as a dictionary. ``more`` are the targets after the first, one for each further
    share of the workload.

    ``allow_write`` opens a block device for writing; whether that is allowed is decided by the safety gate,
    not here. Each round draws other random offsets (the seed is mixed with ``round_index``); the layers of one
    round draw the same, so that they are asked for the same blocks.
    Raises `UsageError` when a raw device is asked to be written to without ``allow_write``, and when the workload has
    shares for another number of targets.
    """
    pieces = (Piece(endpoint=endpoint, segments=tuple(segments)), *more)
    for piece in pieces:
        if piece.endpoint.kind is EndpointKind.BLOCK and workload.rw.writes and not allow_write:
            raise UsageError(
                "cannot write to",
                piece.endpoint.uri,
                "raw devices are read-only",
                "strata measure --help: --destructive",
            )
    if len(pieces) != max(1, len(workload.shares)):
        why = f"the workload has shares for {len(workload.shares)} targets, but {len(pieces)} are given"
        raise UsageError("cannot measure", workload.label, why, "give the targets: strata measure … --target URI")
    return {
        "schema": 1,
        **_targets(pieces, workload, allow_write),
        "workload": _pattern(workload)
        | _arrival(workload)
        | {"seed": seed_of(workload, round_index)}
        | ({} if more else {"segments": _segments(segments)}),
        "ramp_ns": round(timing.ramp_s * units.NS_PER_S),
        "runtime_ns": round(timing.runtime_s * units.NS_PER_S),
        "interval_ns": round(timing.interval_s * units.NS_PER_S),
        "engine": "auto",
    } | (placement.job if placement is not None else {})


def _segments(segments: Sequence[Segment]) -> list[dict[str, int]]:
    return [{"start": s.start, "length": s.length, "target": s.target} for s in segments]


def _targets(pieces: Sequence[Piece], workload: Workload, allow_write: bool) -> dict[str, Any]:
    made = [_target(piece.endpoint, workload, allow_write) for piece in pieces]
    if len(pieces) == 1:
        return {"target": made[0]}
    each = zip(made, workload.shares, pieces, strict=True)
    return {"targets": [{"target": t, "weight": w, "segments": _segments(a.segments)} for t, w, a in each]}


def _pattern(workload: Workload) -> dict[str, Any]:
    split = None
    if workload.bssplit is not None:
        split = workload.bssplit.model_dump()
    found: dict[str, Any] = {
        "rw": workload.rw.value,
        "bs": workload.bs,
        "rwmixread": MIX_READS if workload.rwmixread is None else workload.rwmixread,
        "order": None if workload.order is None else workload.order.model_dump(),
        "bssplit": split,
        "range": None if workload.range is None else workload.range.model_dump(),
        "data": None if workload.data is None else workload.data.model_dump(),
    }
    return found | {name: getattr(workload, name) for name, row in PLAIN.items() if row.engine}


def _arrival(workload: Workload) -> dict[str, Any]:
    arrival = workload.arrival
    rate = limits = None
    if isinstance(arrival, OpenLoop):
        rate = {"iops": arrival.iops, "process": arrival.process, "burst": arrival.burst}
    elif isinstance(arrival, ClosedLoop) and arrival.limits is not None:
        limits = arrival.limits.model_dump()
    return {"iodepth": arrival.iodepth, "rate_iops": rate, "limits": limits}


def local_target(endpoint: Endpoint) -> dict[str, Any]:
    """A file or device as every job names it: ``path`` for people, and the descriptor it is opened beside."""
    return {"kind": endpoint.kind.value, "path": endpoint.path, "fd": endpoint.fd}


def _target(endpoint: Endpoint, workload: Workload, allow_write: bool) -> dict[str, Any]:
    sync, scheme = workload.sync.value, endpoint.scheme
    if scheme is None:
        if endpoint.kind is EndpointKind.NULL:
            return {"kind": "null"}
        base = {**local_target(endpoint), "direct": workload.direct, "sync": sync}
        return base | ({"allow_write": True} if endpoint.kind is EndpointKind.BLOCK and allow_write else {})
    if scheme.library:
        raise UsageError("the native engine does not support", endpoint.uri, "", "--engine fio")
    return {
        "kind": endpoint.kind.value,
        "uri": endpoint.uri,
        **({"password": endpoint.password} if scheme.login else {}),
        "connections": endpoint.connections,
        **({"direct": workload.direct} if scheme.unbuffered else {}),
        "sync": sync,
        "netns": endpoint.netns,
    }


def seed_of(workload: Workload, round_index: int) -> int:
    digest = hashlib.blake2b(f"{workload.seed}:{workload.key}:{round_index}".encode(), digest_size=7).digest()
    return int.from_bytes(digest, "big")
