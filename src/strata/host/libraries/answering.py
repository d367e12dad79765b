"""The questions, as they are answered in the child."""

from __future__ import annotations

import base64
import errno
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

from strata.host.libraries.store import Object, ObjectStore

CHUNK = 1 << 22
WRITERS = 4

Answer = tuple[dict[str, Any], bytes]


def probe(store: ObjectStore, question: dict[str, Any]) -> Answer:
    """Its size, and how long each of so many round trips took (ns)."""
    with closing(store.open(write=False)) as it:
        taken = []
        for _ in range(question["rounds"]):
            begun = time.perf_counter_ns()
            it.round_trip()
            taken.append(time.perf_counter_ns() - begun)
        return {"size_bytes": it.size(), "rtt_ns": taken, "multi_conn": True}, b""


def read(store: ObjectStore, question: dict[str, Any]) -> Answer:
    """``length`` bytes from ``offset``."""
    with closing(store.open(write=False)) as it:
        return {}, _all(it, question["offset"], question["length"])


def create(store: ObjectStore, question: dict[str, Any]) -> Answer:
    """A new one of ``size`` bytes with the ``header`` at its beginning, or none."""
    store.create(question["size"])
    try:
        with closing(store.open(write=True)) as it:
            it.write(0, _header(question))
            it.flush()
    except OSError:
        store.remove()
        raise
    return {}, b""


def fill(store: ObjectStore, question: dict[str, Any]) -> Answer:
    """The whole of it once behind the ``header``, with incompressible data; EPERM when it has another header."""
    header, size, draw = _header(question), question["size"], random.Random(question["seed"])
    with closing(store.open(write=True)) as it, ThreadPoolExecutor(WRITERS) as pool:
        _check(it, header)
        for start in range(0, size, WRITERS * CHUNK):
            spans = range(start, min(size, start + WRITERS * CHUNK), CHUNK)
            made = [(at, draw.randbytes(min(CHUNK, size - at))) for at in spans]
            if start == 0:
                made[0] = (0, header + made[0][1][len(header) :])
            for written in [pool.submit(it.write, at, data) for at, data in made]:
                written.result()
        it.flush()
    return {}, b""


def remove(store: ObjectStore, question: dict[str, Any]) -> Answer:
    """EPERM when it has another header by now."""
    with closing(store.open(write=False)) as it:
        _check(it, _header(question))
    store.remove()
    return {}, b""


QUESTIONS: dict[str, Callable[[ObjectStore, dict[str, Any]], Answer]] = {
    "probe": probe,
    "read": read,
    "create": create,
    "fill": fill,
    "remove": remove,
}


def _header(question: dict[str, Any]) -> bytes:
    return base64.b64decode(question["header"])


def _check(it: Object, header: bytes) -> None:
    if _all(it, 0, len(header)) != header:
        raise OSError(errno.EPERM, "it no longer carries the mark of this file")


def _all(it: Object, offset: int, length: int) -> bytes:
    found = b""
    while len(found) < length and (more := it.read(offset + len(found), length - len(found))):
        found += more
    return found
