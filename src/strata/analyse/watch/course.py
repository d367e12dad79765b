"""Counters of a watching as rates in pieces of time: short enough to be kept, long enough to be rates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from strata.analyse.counters import reading
from strata.model.counters import blockdev, clock, cpu, filesystem, interrupts, memory, name_of, net, servers, tcp
from strata.model.series import Series
from strata.units import NS_PER_S

PIECE_S = 0.5
PIECES_MOST = 120
UNASKED = frozenset(
    counter.name
    for counter in (
        *(blockdev.DISCARDS, blockdev.DISCARD_MERGES, blockdev.DISCARD_BYTES, blockdev.DISCARD_SECONDS, clock.OFFSET),
        *(cpu.FREQUENCY, cpu.CYCLES, cpu.INSTRUCTIONS, cpu.OWN_SECONDS, cpu.OWN_RUN_DELAY, interrupts.RUNS),
        *(filesystem.BYTES, filesystem.INODES, interrupts.PACKETS, memory.NUMA_PAGES, net.PACKETS, servers.RESIDENT),
        *(servers.SWITCHES, servers.READ_BYTES, servers.WRITTEN_BYTES, tcp.CWND, tcp.RTT_VARIATION),
    )
)
"""What no rule of a load asks for."""


def pieces(seconds: float) -> tuple[float, ...]:
    """Where they begin, and the end of the last one, in seconds."""
    count = max(1, min(PIECES_MOST, round(seconds / PIECE_S)))
    return tuple(seconds * i / count for i in range(count + 1))


def rates(series: Iterable[Series], began_ns: int, edges: Sequence[float]) -> dict[str, tuple[float | None, ...]]:
    """By the counter's stored name its rate (of a gauge: its mean) in each piece. What never had a value is left
    out.
    """
    spans = [(began_ns + round(a * NS_PER_S), began_ns + round(b * NS_PER_S)) for a, b in pairwise(edges)]
    found = {}
    for one in series:
        if one.metric in UNASKED:
            continue
        values = tuple(_in(one, start, end) for start, end in spans)
        if any(v is not None for v in values):
            found[name_of(one)] = values
    return found


def _in(series: Series, start: int, end: int) -> float | None:
    if not series.t_ns or end <= series.t_ns[0] or start >= series.t_ns[-1]:
        return None
    value = reading(series, start, end)
    return None if value is None else float(f"{value:.5g}")
