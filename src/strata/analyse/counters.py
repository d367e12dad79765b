"""Counters of one measurement, cut to its measured span, as rates per second and means.

Samplers start before the ramp and stop after the last I/O, so the first and last samples lie outside the span:
a counter is read at the span's two edges by linear interpolation. What was not sampled stays absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from strata.model.result import CellResult
from strata.model.series import Series, SeriesKind, counter_labels, counter_name

_BESIDE = " + "
BUSY_MODES = ("idle", "iowait")


def name_of(series: Series) -> str:
    """``cpu_seconds{cpu=all,mode=user}``."""
    return counter_name(series.metric, series.labels)


def reading(series: Series, start_ns: int, end_ns: int) -> float | None:
    """A counter's rate per second or a gauge's mean between two instants; None where it says nothing.

    A series that does not reach into the span (other clock, too few samples) is taken whole.
    """
    t = np.asarray(series.t_ns, dtype=float)
    v = np.asarray(series.values, dtype=float)
    if t.size == 0:
        return None
    low, high = max(float(start_ns), t[0]), min(float(end_ns), t[-1])
    if high <= low:
        low, high = float(t[0]), float(t[-1])
    if series.kind is SeriesKind.GAUGE:
        inside = v[(t >= low) & (t <= high)]
        return float(np.mean(inside if inside.size else v))
    if t.size < 2 or high <= low or np.any(np.diff(v) < 0):
        return None
    first, last = np.interp([low, high], t, v)
    return float((last - first) / ((high - low) / 1e9))


def readings(cell: CellResult) -> dict[str, float]:
    """Every counter of one measurement by `name_of`."""
    result = cell.result
    start = 0 if result is None else result.started_unix_ns + result.ramp_ns
    end = 0 if result is None else start + result.measured_ns
    found = {name_of(s): reading(s, start, end) for s in cell.counters}
    return {k: v for k, v in found.items() if v is not None}


def mean_of(rounds: Iterable[dict[str, float]]) -> dict[str, float]:
    """The mean over rounds of every counter, over the rounds that have it."""
    sums: dict[str, list[float]] = {}
    for one in rounds:
        for key, value in one.items():
            sums.setdefault(key, []).append(value)
    return {k: sum(v) / len(v) for k, v in sorted(sums.items())}


@dataclass(frozen=True)
class Processors:
    """Shares 0..1 of processor time: not idle over all, the busiest one, and taken away by the hypervisor."""

    busy: float
    busiest: float
    steal: float


def processors(values: dict[str, float], node: str | None = None) -> Processors | None:
    """From ``cpu_seconds{cpu,mode}`` of this machine, or of another one that has the label ``node``.

    Waiting for I/O is idleness: the processor could have done other work.
    """
    modes: dict[str, dict[str, float]] = {}
    for key, value in values.items():
        metric, labels = counter_labels(key)
        if metric == "cpu_seconds" and {"cpu", "mode"} <= labels.keys() and labels.get("node") == node:
            modes.setdefault(labels["cpu"], {})[labels["mode"]] = value
    single = {c: m for c, m in modes.items() if c != "all"}
    if "all" not in modes and single:
        names = {mode for m in single.values() for mode in m}
        modes["all"] = {mode: sum(m.get(mode, 0.0) for m in single.values()) for mode in names}
    if "all" not in modes or not any(mode in modes["all"] for mode in BUSY_MODES):
        return None
    busy = _busy(modes["all"])
    if busy is None:
        return None
    shares = [s for s in map(_busy, single.values()) if s is not None]
    total = sum(modes["all"].values())
    return Processors(busy=busy, busiest=max(shares, default=busy), steal=modes["all"].get("steal", 0.0) / total)


def _busy(modes: dict[str, float]) -> float | None:
    total = sum(modes.values())
    return 1 - sum(modes.get(m, 0.0) for m in BUSY_MODES) / total if total > 0 else None


@dataclass(frozen=True)
class DeviceLoad:
    """One block device: bytes and I/Os per second, mean I/Os in flight, mean time in its queue per I/O (ns)."""

    name: str
    bytes_per_second: float
    read_bytes_per_second: float
    iops: float
    in_flight: float | None
    ns_per_io: float | None


def device(values: dict[str, float], chain: Sequence[str], carriers: Sequence[str] = ()) -> DeviceLoad | None:
    """What carries the data: the first of ``chain`` (top to medium) that was sampled, or ``carriers`` together.

    Several carriers share the bytes, so all of them count, or none where one was not sampled. Without a chain, or with
    none of it sampled, the one device that was; None when that is not unique.
    """
    found: dict[str, dict[str, float]] = {}
    for key, value in values.items():
        metric, labels = counter_labels(key)
        if metric.startswith("blockdev_") and "device" in labels and "node" not in labels:
            found.setdefault(labels["device"], {})[metric.removeprefix("blockdev_")] = value
    if len(carriers) > 1:
        name, parts = together(carriers), [found.get(d, {}) for d in carriers]
        of = {key: sum(p[key] for p in parts) for key in parts[0] if all(key in p for p in parts)}
    else:
        one = next((d for d in chain if d in found), next(iter(found)) if len(found) == 1 else None)
        if one is None:
            return None
        name, of = one, found[one]
    if not {"read_bytes", "write_bytes"} <= of.keys():
        return None
    ios = of.get("reads", 0.0) + of.get("writes", 0.0)
    waited = [of[k] for k in ("read_seconds", "write_seconds") if k in of]
    return DeviceLoad(
        name=name,
        bytes_per_second=of["read_bytes"] + of["write_bytes"],
        read_bytes_per_second=of["read_bytes"],
        iops=ios,
        in_flight=of.get("weighted_seconds", of.get("in_flight")),
        ns_per_io=sum(waited) / ios * 1e9 if waited and ios > 0 else None,
    )


def together(carriers: Sequence[str]) -> str:
    """What several devices that share the bytes are called as one."""
    return _BESIDE.join(carriers)


def apart(name: str) -> tuple[str, ...]:
    """The devices that `together` names."""
    return tuple(name.split(_BESIDE))


def wire_bytes(values: dict[str, float]) -> float | None:
    """Bytes per second on the wires: the larger direction of every interface, and what the loopback sent.

    Loopback bytes are received as they are sent; they are counted once. Of named nodes, what all sent or all received,
    whichever is more: a byte that one node sends another receives.
    """
    directions: dict[str, dict[str, float]] = {}
    nodes: dict[str, float] = {}
    for key, value in values.items():
        metric, labels = counter_labels(key)
        if metric != "net_bytes" or not {"interface", "direction"} <= labels.keys():
            continue
        if "node" not in labels:
            directions.setdefault(labels["interface"], {})[labels["direction"]] = value
        elif labels["interface"] != "lo":
            nodes[labels["direction"]] = nodes.get(labels["direction"], 0.0) + value
    if not directions and not nodes:
        return None
    here = sum(d.get("tx", 0.0) if i == "lo" else max(d.values()) for i, d in directions.items())
    return here + max(nodes.values(), default=0.0)
