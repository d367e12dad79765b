"""What each client is told: a job on its own part of the data, and by which mark it knows what it may write to."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from typing import Any

from strata.engine.job import Piece, build_job
from strata.engine.port import Request
from strata.engine.remote import own_mark
from strata.errors import UsageError
from strata.host.mark import read_mark_fd
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.plan import Segment, clipped
from strata.model.workload import Workload

_ROUNDS_APART = 1024
"""More than there are clients: each client of each round draws other offsets."""


def client_words(request: Request) -> list[dict[str, Any]]:
    """Plain values, one dictionary for each client of the workload.

    Raises `UsageError` where a part would hold no block.
    """
    workload = request.workload
    marks = [_mark(piece.endpoint) if workload.rw.writes else None for piece in request.pieces]
    found = []
    for number in range(workload.clients):
        chosen = list(zip(_pieces(request, number), marks, strict=True))
        asked = workload.of_one_client
        if workload.deal == "client":
            chosen = [chosen[number % len(chosen)]]
            asked = asked.model_copy(update={"shares": (), "deal": "share"})
        first, *others = (piece for piece, _ in chosen)
        job = build_job(
            first.endpoint,
            asked,
            first.segments,
            request.timing,
            allow_write=request.allow_write,
            round_index=request.round_index * _ROUNDS_APART + number,
            placement=request.placement,
            more=others,
        )
        found.append({
            "client": number, "node": platform.node(), "job": job, "marks": [mark for _, mark in chosen],
            "stop_with_interval": request.timing.stop_with_interval,
        })  # fmt: skip
    return found


def _pieces(request: Request, number: int) -> list[Piece]:
    """Every target with this client's part of it."""
    workload, targets = request.workload, len(request.pieces)
    found = []
    for index, piece in enumerate(request.pieces):
        # Where each client has one target, only those that have the same one divide it.
        own = workload.deal == "client"
        among = len(range(index, workload.clients, targets)) if own else workload.clients
        place = number // targets if own else number
        segments = part_of(piece.segments, workload, min(place, among - 1), among, piece.endpoint.uri)
        found.append(piece.model_copy(update={"segments": segments}))
    return found


def part_of(
    segments: Sequence[Segment], workload: Workload, number: int, clients: int, where: str = ""
) -> tuple[Segment, ...]:
    """The part of client ``number`` among so many: the blocks that follow each other, as many for each up to one.

    Raises `UsageError` where there are fewer blocks than clients.
    """
    unit = math.lcm(workload.bs, workload.align or workload.bs)
    found, before = [], 0
    used = clipped(segments, workload.range)
    blocks = [(-(-s.start // unit), (s.start + s.length) // unit) for s in used]
    total = sum(max(0, last - first) for first, last in blocks)
    if total < clients:
        why = f"the data holds {total} pieces of {unit} bytes, too few for {clients} clients"
        raise UsageError("cannot divide the data of", where, why, "give a larger --size, or fewer --clients")
    begin, end = total * number // clients, total * (number + 1) // clients
    for segment, (first, last) in zip(used, blocks, strict=True):
        low, high = max(first, first + begin - before), min(last, first + end - before)
        if low < high:
            start = low * unit
            target = segment.target + start - segment.start
            found.append(Segment(start=start, length=(high - low) * unit, target=target))
        before += max(0, last - first)
    return tuple(found)


def _mark(endpoint: Endpoint) -> str | None:
    """The uuid by which a client knows what it may write to; None where it is no file of Strata's, as of a device that
    the user gave up."""
    if endpoint.kind is EndpointKind.FILE and endpoint.fd is not None:
        mark = read_mark_fd(endpoint.fd)
    elif endpoint.scheme is not None and not endpoint.scheme.library:
        mark = own_mark(endpoint)
    else:
        mark = None
    return None if mark is None else mark.uuid
