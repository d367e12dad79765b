"""Counters of one measurement, cut to its measured span, as rates per second and means.

Samplers start before the ramp and stop after the last I/O, so the first and last samples lie outside the span:
a counter is read at the span's two edges by linear interpolation. What was not sampled stays absent.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from strata.model.counters import Counter, Readings, blockdev, name_of, net
from strata.model.groups import grouped
from strata.model.result import CellResult
from strata.model.series import Series, SeriesKind


def reading(series: Series, start_ns: int, end_ns: int) -> float | None:
    """A counter's rate per second or a gauge's mean between two instants; None where it says nothing.

    A series that does not reach into the span (other clock, too few samples) is taken whole.
    """
    # A stack of many nodes has a thousand series of a handful of samples: arrays would cost more than they save.
    t, v = series.t_ns, series.values
    if not t:
        return None
    low, high = max(start_ns, t[0]), min(end_ns, t[-1])
    if high <= low:
        low, high = t[0], t[-1]
    if series.kind is SeriesKind.GAUGE:
        inside = [x for at, x in zip(t, v, strict=True) if low <= at <= high] or v
        return sum(inside) / len(inside)
    if len(t) < 2 or high <= low or any(b < a for a, b in pairwise(v)):
        return None
    return (_at(t, v, high) - _at(t, v, low)) / ((high - low) / 1e9)


def _at(t: Sequence[int], v: Sequence[float], when: int) -> float:
    """Linear between the two samples around ``when``, which lies within the series."""
    i = bisect_left(t, when)
    if t[i] == when:
        return v[i]
    return v[i - 1] + (v[i] - v[i - 1]) * ((when - t[i - 1]) / (t[i] - t[i - 1]))


def readings(cell: CellResult) -> Readings:
    """Every counter of one measurement."""
    result = cell.result
    start = 0 if result is None else result.started_unix_ns + result.ramp_ns
    end = 0 if result is None else start + result.measured_ns
    found = {name_of(s): reading(s, start, end) for s in cell.counters}
    return Readings({k: v for k, v in found.items() if v is not None})


def mean_of(rounds: Iterable[Readings]) -> Readings:
    """The mean over rounds of every counter, over the rounds that have it."""
    sums = grouped(told for one in rounds for told in one.stored.items())
    return Readings({k: sum(v) / len(v) for k, v in sorted(sums.items())})


@dataclass(frozen=True)
class DeviceLoad:
    """One block device: bytes and I/Os per second, mean I/Os in flight, mean time in its queue per I/O (ns)."""

    name: str
    bytes_per_second: float
    read_bytes_per_second: float
    iops: float
    in_flight: float | None
    ns_per_io: float | None


def device(told: Readings, chain: Sequence[str], carriers: Sequence[str] = ()) -> DeviceLoad | None:
    """What carries the data: the first of ``chain`` (top to medium) that was sampled, or ``carriers`` together.

    Several carriers share the bytes, so all of them count, or none where one was not sampled. Without a chain, or with
    none of it sampled, the one device that was; None when that is not unique.
    """
    sampled = [r["device"] for r in told.of(blockdev.READ_BYTES, node=None)]
    first = [d for d in chain if d in sampled][:1] or (sampled if len(sampled) == 1 else [])
    names = carriers if len(carriers) > 1 else first

    def of(*counters: Counter) -> float | None:
        """Of all devices together; None where one of them lacks one of the counters."""
        each = [told.value(counter, device=name, node=None) for counter in counters for name in names]
        known = [value for value in each if value is not None]
        return sum(known) if known and len(known) == len(each) else None

    read, written = of(blockdev.READ_BYTES), of(blockdev.WRITE_BYTES)
    if read is None or written is None:
        return None
    ios = (of(blockdev.READS) or 0.0) + (of(blockdev.WRITES) or 0.0)
    waited = [s for s in (of(blockdev.READ_SECONDS), of(blockdev.WRITE_SECONDS)) if s is not None]
    under_way = of(blockdev.WEIGHTED_SECONDS)
    return DeviceLoad(
        name=together(names),
        bytes_per_second=read + written,
        read_bytes_per_second=read,
        iops=ios,
        in_flight=of(blockdev.IN_FLIGHT) if under_way is None else under_way,
        ns_per_io=sum(waited) / ios * 1e9 if waited and ios > 0 else None,
    )


def together(carriers: Sequence[str]) -> str:
    """What several devices that share the bytes are called as one."""
    return " + ".join(carriers)


def wire_bytes(told: Readings) -> float | None:
    """Bytes per second on the wires: the larger direction of every interface, and what the loopback sent.

    Loopback bytes are received as they are sent; they are counted once. Of named nodes, what all sent or all received,
    whichever is more: a byte that one node sends another receives.
    """
    here: dict[str, dict[str, float]] = {}
    nodes: dict[str, float] = {}
    for r in told.of(net.BYTES):
        if r.node is None:
            here.setdefault(r["interface"], {})[r["direction"]] = r.value
        elif r["interface"] != net.LOOPBACK:
            nodes[r["direction"]] = nodes.get(r["direction"], 0.0) + r.value
    if not here and not nodes:
        return None
    own = sum(d.get(net.SENT, 0.0) if i == net.LOOPBACK else max(d.values()) for i, d in here.items())
    return own + max(nodes.values(), default=0.0)
