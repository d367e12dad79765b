"""Counters of other tools that mean what one of ours means, and their series as ours.

Windows' and sysstat's are rates and shares, each the mean since the sample before; ours grow. What a rate makes of the
time since the sample before is added up, so that whoever cuts a piece out of it gets the mean of that piece. Only what
surely means the same is in the table; all others stay what they are, under their own names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from strata import units
from strata.model.counters import Counter, blockdev, cpu, net
from strata.model.series import Series, SeriesKind

TOTALS = frozenset({"_total", "all", "", "0,_total"})
"""How tools call the sum over all processors."""


@dataclass(frozen=True)
class CounterSet:
    """``sees``: where in a stack it counts. ``reads`` and ``writes``: its counters of I/Os per second; ``also``: other
    names of it."""

    name: str
    sees: str
    reads: str = ""
    writes: str = ""
    also: tuple[str, ...] = ()


WINDOWS_SETS = (
    CounterSet("PhysicalDisk", "disks, below every volume", "Disk Reads/sec", "Disk Writes/sec"),
    CounterSet("LogicalDisk", "volumes", "Disk Reads/sec", "Disk Writes/sec"),
    CounterSet("Processor Information", "processors", also=("Processor",)),
    CounterSet("Network Interface", "network cards, without RDMA"),
    CounterSet("Cluster CSVFS", "cluster volumes, as their users see them", "Reads/sec", "Writes/sec"),
    CounterSet("Cluster CSV Coordinator", "cluster volumes, at the node that owns them"),
    CounterSet("Cluster Storage Hybrid Disks", "disks behind the cache of a pool"),
    CounterSet("SMB Client Shares", "shares, at their client", "Read Requests/sec", "Write Requests/sec"),
    CounterSet("SMB Server Shares", "shares, at their server", "Read Requests/sec", "Write Requests/sec"),
    CounterSet("SMB Direct Connection", "connections over RDMA"),
)
"""Sets of Performance Monitor that tell the layers apart, by the names that Windows gives them in English."""
TOOL_SETS = {
    "iostat": (("processors", "%user"), ("disks", "r/s"), ("disks", "tps")),
    "sar": (("processors", "%user"), ("disks", "tps"), ("disks", "rkB/s")),
    "sadf": (("processors", "%user"), ("processors", "user"), ("disks", "tps"), ("disks", "rkB")),
}
"""What the tools of sysstat may count, and a column of it."""
_RATES = {f"{s.name}\\{c}" for s in WINDOWS_SETS for c in (s.reads, s.writes) if c}
_RATES |= {f"{tool} {column}" for tool in TOOL_SETS for column in ("r/s", "w/s")}


@dataclass(frozen=True)
class Meaning:
    """What a rate is of: ``scale`` base units each second for each unit that is printed; ``rest``: of what is missing
    to 100."""

    counter: Counter
    scale: float = 1.0
    labels: dict[str, str] = field(default_factory=dict)
    rest: bool = False


def _disk(counter: Counter, scale: float = 1.0, *, rest: bool = False) -> tuple[Meaning, ...]:
    return (Meaning(counter, scale, rest=rest),)


def _card(counter: Counter, direction: str) -> tuple[Meaning, ...]:
    return (Meaning(counter, labels={"direction": direction}),)


_MODES = ("user", "system", "iowait", "steal", "idle")
_BUSY = (Meaning(cpu.SECONDS, 0.01, {"mode": "user"}), Meaning(cpu.SECONDS, 0.01, {"mode": "idle"}, rest=True))

WINDOWS = {
    "PhysicalDisk\\Disk Reads/sec": _disk(blockdev.READS),
    "PhysicalDisk\\Disk Writes/sec": _disk(blockdev.WRITES),
    "PhysicalDisk\\Disk Read Bytes/sec": _disk(blockdev.READ_BYTES),
    "PhysicalDisk\\Disk Write Bytes/sec": _disk(blockdev.WRITE_BYTES),
    "PhysicalDisk\\% Idle Time": _disk(blockdev.IO_SECONDS, 0.01, rest=True),
    "PhysicalDisk\\Avg. Disk Queue Length": _disk(blockdev.WEIGHTED_SECONDS),
    "Processor\\% Processor Time": _BUSY,
    "Processor Information\\% Processor Time": _BUSY,
    "Network Interface\\Bytes Received/sec": _card(net.BYTES, net.RECEIVED),
    "Network Interface\\Bytes Sent/sec": _card(net.BYTES, net.SENT),
    "Network Interface\\Packets Received/sec": _card(net.PACKETS, net.RECEIVED),
    "Network Interface\\Packets Sent/sec": _card(net.PACKETS, net.SENT),
}
"""By object and counter, as Windows calls them in English."""

SYSSTAT = {
    "r/s": _disk(blockdev.READS), "w/s": _disk(blockdev.WRITES), "f/s": _disk(blockdev.FLUSHES),
    "rkB/s": _disk(blockdev.READ_BYTES, units.KIB), "wkB/s": _disk(blockdev.WRITE_BYTES, units.KIB),
    "rkB": _disk(blockdev.READ_BYTES, units.KIB), "wkB": _disk(blockdev.WRITE_BYTES, units.KIB),
    "aqu-sz": _disk(blockdev.WEIGHTED_SECONDS), "%util": _disk(blockdev.IO_SECONDS, 0.01),
    "util": _disk(blockdev.IO_SECONDS, 0.01), "util-percent": _disk(blockdev.IO_SECONDS, 0.01),
    **{f"{percent}{mode}": (Meaning(cpu.SECONDS, 0.01, {"mode": mode}),) for percent in ("%", "") for mode in _MODES},
}  # fmt: skip
"""By column, behind the name of the tool (iostat, sar, sadf)."""


def meanings(metric: str) -> tuple[Meaning, ...]:
    """What a metric of an imported file is of; none where that is not known."""
    tool, _, column = metric.partition(" ")
    return SYSSTAT.get(column, ()) if tool in TOOL_SETS else WINDOWS.get(metric, ())


def as_ours(series: Iterable[Series]) -> Iterator[Series]:
    """Those whose meaning is known, as series of our counters."""
    for one in series:
        for meaning in meanings(one.metric) if one.kind is SeriesKind.GAUGE and len(one.t_ns) > 1 else ():
            of = one.labels.get("of", "")
            labels = dict(meaning.labels)
            if meaning.counter is cpu.SECONDS:
                labels["cpu"] = "all" if of.lower() in TOTALS else of
            elif meaning.counter in (net.BYTES, net.PACKETS):
                labels["interface"] = of
            else:
                labels["device"] = of
            if meaning.counter is not cpu.SECONDS and of.lower() in TOTALS:
                continue
            yield Series(
                metric=meaning.counter.name, unit=meaning.counter.unit, kind=SeriesKind.COUNTER, labels=labels,
                t_ns=one.t_ns, values=_added_up(one, meaning),
            )  # fmt: skip


def _added_up(one: Series, meaning: Meaning) -> tuple[float, ...]:
    total, found = 0.0, [0.0]
    for (before, now), value in zip(pairwise(one.t_ns), one.values[1:], strict=True):
        rate = max(0.0, 100 - value) if meaning.rest else max(0.0, value)
        total += rate * meaning.scale * max(0, now - before) / units.NS_PER_S
        found.append(total)
    return tuple(found)


def sets_of(series: Iterable[Series]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(sets that are there, known sets of the same tool that are not) of the counters of one file."""
    metrics = {one.metric for one in series}
    tool = next((tool for tool in TOOL_SETS if any(m.startswith(f"{tool} ") for m in metrics)), None)
    if tool is not None:
        columns = TOOL_SETS[tool]
        there = tuple(dict.fromkeys(name for name, column in columns if f"{tool} {column}" in metrics))
        return there, tuple(dict.fromkeys(name for name, _ in columns if name not in there))
    objects = {metric.partition("\\")[0] for metric in metrics if "\\" in metric}
    if not objects:
        return (), ()
    there = tuple(s.name for s in WINDOWS_SETS if objects & {s.name, *s.also})
    return there, tuple(s.name for s in WINDOWS_SETS if s.name not in there)


def sets_said(series: Iterable[Series]) -> str | None:
    """The same for people; None for a tool without known sets."""
    there, absent = sets_of(series)
    if not there and not absent:
        return None
    if not there:
        return "no known set of counters is in it: names are read in English"
    return f"sets of counters: {', '.join(there)}" + (f"; not in it: {', '.join(absent)}" if absent else "")


def ios_of(series: Iterable[Series]) -> dict[str, tuple[tuple[int, ...], tuple[float, ...]]]:
    """Reads and writes of each device, volume or share, added up over time: (moments, I/Os up to then) by its name."""
    found: dict[str, tuple[tuple[int, ...], tuple[float, ...]]] = {}
    for one in series:
        if one.kind is not SeriesKind.GAUGE or one.metric not in _RATES or len(one.t_ns) < 2:
            continue
        where = one.metric.partition("\\")[0] if "\\" in one.metric else one.metric.partition(" ")[0]
        name = " ".join(filter(None, (where, one.labels.get("of", ""))))
        total = _added_up(one, Meaning(blockdev.READS))
        held = found.get(name)
        if held is None:
            found[name] = one.t_ns, total
        elif held[0] == one.t_ns:
            found[name] = one.t_ns, tuple(a + b for a, b in zip(held[1], total, strict=True))
    return found
