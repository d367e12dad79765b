"""A target of our own (`strata target --stats`): what its side of each request took.

Reads    the target's statistics socket.
Makes    with ``{direction=read|write|sync}``: ``target_requests`` (requests, counter), ``target_bytes``
         (B, counter), ``target_seconds`` (s, counter: summed over requests, from the request's last
         byte in to the reply ready to go out; the shaped wire is not in it, waiting for a service thread is).
Costs    128 µs per sample; what counting costs the target could not be seen (below 40 ns a request).
Needs    a target that was started with ``--stats``.
Blind to the kernel's socket buffers: time a request lies there before the target takes it is the wire's.
"""

from __future__ import annotations

import socket
import time
from typing import Any

from strata import parsing
from strata.model import histogram
from strata.model.counters import target
from strata.probes.port import Probe, ProbeScope, TableProbe, Told
from strata.units import NS_PER_S

OF_NODE = True

TIMEOUT_S = 2.0
ANSWER_MOST = 4 << 20
"""Bytes: every bucket of three directions takes less than a tenth of it."""
_FIELDS = (
    ("ops", target.REQUESTS, 1.0),
    ("bytes", target.BYTES, 1.0),
    ("time_ns", target.SECONDS, 1 / NS_PER_S),
)


def ask(path: str, *, times: bool = False) -> dict[str, Any]:
    """The target's answer: sums by direction; with ``times`` also every bucket as ``bins``. Raises `OSError`, also
    where who listens there is no target: a stack file may name any socket."""
    until, answer = time.monotonic() + TIMEOUT_S, b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(TIMEOUT_S)
        connection.connect(f"\0{path[1:]}" if path.startswith("@") else path)
        connection.sendall(b"t" if times else b"s")
        while part := connection.recv(1 << 16):
            answer += part
            if len(answer) > ANSWER_MOST or time.monotonic() > until:
                raise OSError("no statistics of a target: the reply is too long or too slow")
    try:
        found = parsing.json_of(answer.decode())
    except ValueError as e:
        raise OSError(f"no statistics of a target: {e}") from e
    if not isinstance(found, dict) or not all(_is_told(found.get(direction)) for direction in target.DIRECTIONS):
        raise OSError("no statistics of a target: the reply has another format")
    return found


def _is_told(of: Any) -> bool:
    """Whether that is what a target tells of a direction."""
    if not isinstance(of, dict) or not all(_is_count(of.get(field)) for field, _, _ in _FIELDS):
        return False
    bins = of.get("bins", [])
    return isinstance(bins, list) and all(
        isinstance(one, list) and len(one) == 2 and all(map(_is_count, one)) for one in bins
    )


def _is_count(given: Any) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and given >= 0


def between(before: dict[str, Any], after: dict[str, Any]) -> dict[str, str]:
    """The distribution of the requests between two answers with ``times``, by direction; a payload as results have."""
    made = {}
    for direction in target.DIRECTIONS:
        earlier = dict(map(tuple, before.get(direction, {}).get("bins", ())))
        grown = {ns: n - earlier.get(ns, 0) for ns, n in after.get(direction, {}).get("bins", ())}
        if any(n < 0 for n in grown.values()) or set(earlier) - set(grown):
            # The target was started anew in between.
            continue
        if grown := {ns: n for ns, n in grown.items() if n}:
            made[direction] = histogram.from_bins(grown)
    return made


class TargetProbe(TableProbe):
    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self.begin()

    def told(self) -> Told:
        try:
            found = ask(self._path)
        except OSError as e:
            self.absent = (f"no statistics at {self._path}: {e.strerror or e}",)
            return {}
        return {
            (counter, (direction,)): found[direction][name] * factor
            for direction in target.DIRECTIONS
            for name, counter, factor in _FIELDS
        }


def open_probe(scope: ProbeScope) -> Probe:
    """Of the target whose statistics socket is ``scope.stats``; nothing without one."""
    return TargetProbe(scope.stats) if scope.stats else Probe()
