"""The single requests of a saved trace: when each was issued, how long it took, how large it was, and whose it was.

The layout is that of ``crates/strata-trace/src/saved.rs``; a test compares both readers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from strata.host.block import SECTOR
from strata.probes.trace import MAGIC

_RECORD = np.dtype([
    ("at_ns", "<u8"), ("sector", "<u8"), ("other", "<u8"), ("dev", "<u4"), ("sectors", "<u4"), ("pid", "<i4"),
    ("error", "<i2"), ("comm", "<u2"), ("kind", "u1"), ("op", "u1"), ("bits", "u1"), ("pad", "u1"),
])  # fmt: skip
_QUEUE, _ISSUE, _COMPLETE, _BIO_COMPLETE = 0, 5, 7, 9
_READ, _WRITE = 0, 1


@dataclass(frozen=True)
class TracedRequests:
    """Of one device, in the order of their issue; ``who``: (thread, its name) and how many I/Os each brought in."""

    issued_ns: NDArray[np.int64]
    took_ns: NDArray[np.int64]
    bytes: NDArray[np.int64]
    writes: NDArray[np.bool_]
    done_ns: NDArray[np.int64]
    """Every completion, also of those that were issued before the window."""
    who: tuple[tuple[int, str, int], ...]


def requests_of(path: Path, dev: int, *, entrance: int | None = None, by_bio: bool = False) -> TracedRequests:
    """Of a file that this process has just recorded. ``dev`` and the rest are as in `TraceTarget`."""
    head, events = _read(path)
    inside = events[(events["dev"] == dev) & np.isin(events["op"], (_READ, _WRITE)) & (events["sectors"] > 0)]
    begin, end = (_QUEUE, _BIO_COMPLETE) if by_bio else (_ISSUE, _COMPLETE)
    issued, done = inside[inside["kind"] == begin], inside[inside["kind"] == end]
    at = _paired(issued, done)
    kept = at >= 0
    took = done["at_ns"][at[kept]].astype(np.int64) - issued["at_ns"][kept].astype(np.int64)
    entered = events[(events["kind"] == _QUEUE) & (events["dev"] == (dev if entrance is None else entrance))]
    return TracedRequests(
        issued_ns=issued["at_ns"][kept].astype(np.int64),
        took_ns=took,
        bytes=issued["sectors"][kept].astype(np.int64) * SECTOR,
        writes=issued["op"][kept] == _WRITE,
        done_ns=np.sort(done["at_ns"].astype(np.int64)),
        who=_who(entered if entered.size else issued, head["names"]),
    )


def _read(path: Path) -> tuple[dict[str, Any], NDArray[Any]]:
    content = path.read_bytes()
    at = len(MAGIC)
    length = int.from_bytes(content[at : at + 4], "little")
    head = json.loads(content[at + 4 : at + 4 + length])
    return head, np.frombuffer(content, _RECORD, count=head["events"], offset=at + 4 + length)


def _paired(issued: NDArray[Any], done: NDArray[Any]) -> NDArray[np.int64]:
    """For each issue the place of its completion; -1: it was not seen. The first one of its sector after it."""
    waiting: dict[int, list[int]] = {}
    found = np.full(issued.size, -1, dtype=np.int64)
    order = np.argsort(np.concatenate([issued["at_ns"], done["at_ns"]]), kind="stable")
    sectors = np.concatenate([issued["sector"], done["sector"]])[order].tolist()
    for place, sector in zip(order.tolist(), sectors, strict=True):
        if place < issued.size:
            waiting.setdefault(sector, []).append(place)
        elif mine := waiting.get(sector):
            found[mine.pop(0)] = place - issued.size
    return found


def _who(entered: NDArray[Any], names: list[str]) -> tuple[tuple[int, str, int], ...]:
    pids, first, counts = np.unique(entered["pid"], return_index=True, return_counts=True)
    told = [
        (int(pid), names[int(entered["comm"][at])] if int(entered["comm"][at]) < len(names) else "", int(n))
        for pid, at, n in zip(pids, first, counts, strict=True)
    ]
    return tuple(sorted(told, key=lambda one: -one[2]))
