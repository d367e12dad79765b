"""What vdbench's flat file and its reports have in common: intervals, and the row of their average as a cell.

``MB`` are 2^20 bytes and times are ms. The average begins at the second interval: its row says of which it is. Threads
are those of one storage definition, each with one I/O in flight. A requested rate of 9999988 and the like is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from strata import units
from strata.formats.results._measured import printed
from strata.formats.results._sysstat import time_of
from strata.formats.results.source import Misread, room
from strata.model.figures import Dimension, Figure, exact
from strata.model.imported import ImportedCell, ImportedInterval, Measured

NOTES = (
    "MB are 2^20 bytes, times are ms; figures are vdbench's average, which leaves out the first interval",
    "threads are those of one storage definition (sd)",
)
_AVERAGE = re.compile(r"(?:avg|std|max)_(\d{1,7})-(\d{1,7})")
_UNCONTROLLED = 9_999_900
POINTS_MOST = 1_000_000


@dataclass
class VdbenchRun:
    """One of the runs of a file. ``points``: by interval (time of day in s, figures)."""

    name: str
    asked: dict[str, Any] = field(default_factory=dict)
    incomplete: tuple[str, ...] = ()
    began_unix_ns: int | None = None
    points: dict[int, tuple[float | None, dict[str, dict[str, float]]]] = field(default_factory=dict)


def figure(row: Mapping[str, str], key: str, unit: str, dimension: Dimension, step: float | None) -> Figure | None:
    """``step``: of what was printed with its last zeros cut off; None: by its places."""
    found = printed(row.get(key, ""), unit, dimension)
    return found if found is None or step is None else found.model_copy(update={"step": step})


def sides_of(row: Mapping[str, str], step: float | None) -> tuple[dict[str, Measured], Measured | None]:
    """(by direction, both of them) of a row with lower-case heads, empty where nothing was done."""
    plain, rate, time = Dimension.PLAIN, Dimension.RATE, Dimension.TIME
    every = {
        "iops": figure(row, "rate", "", plain, step), "rate": figure(row, "mb/sec", "MiB/s", rate, step),
        "time.mean": figure(row, "resp", "ms", time, step), "time.max": figure(row, "resp_max", "ms", time, step),
    }  # fmt: skip
    both = Measured(figures={key: value for key, value in every.items() if value is not None})
    if not both.base("iops"):
        return {}, None
    share = printed(row.get("read%", ""))
    if share is not None and share.value in (0.0, 100.0):
        return {"read" if share.value else "write": both}, None
    sides: dict[str, Measured] = {}
    for side in ("read", "write"):
        most = f"{side}_resp_max" if f"{side}_resp_max" in row else f"{side}_max"
        one = {
            "iops": figure(row, f"{side}_rate", "", plain, step),
            "rate": figure(row, f"mb_{side}", "MiB/s", rate, step),
            "time.mean": figure(row, f"{side}_resp", "ms", time, step), "time.max": figure(row, most, "ms", time, step),
        }  # fmt: skip
        if one["iops"] is None and share is not None and both.figures["iops"].readings:
            part = share.value / 100 if side == "read" else 1 - share.value / 100
            around = (share.step if step is None else step) / 100
            whole = both.figures["iops"].base
            one["iops"] = exact(whole * part, low=max(0.0, whole * (part - around)), high=whole * (part + around))
        found = {key: value for key, value in one.items() if value is not None}
        if found.get("iops") is not None and found["iops"].value > 0:
            sides[side] = Measured(figures=found)
    return (sides, both if len(sides) > 1 else None) if sides else ({}, both)


def add(
    run: VdbenchRun, interval: str, day_s: str, row: Mapping[str, str], step: float | None, n: int
) -> ImportedCell | None:
    """Another row of a run; its cell where the row is the average."""
    sides, both = sides_of(row, step)
    if (average := _AVERAGE.fullmatch(interval)) is not None:
        if not interval.startswith("avg") or (not sides and both is None):
            return None
        return _cell(run, (int(average[1]), int(average[2])), (sides, both), row, step, n)
    if not interval.isdecimal() or len(interval) > 9:
        raise Misread(f"{interval[:40]!r} is not an interval", n)
    room(run.points, POINTS_MOST, "intervals", n)
    clock = time_of(day_s.partition(".")[0])
    there = sides or ({} if both is None else {"total": both})
    bases = {name: {key: f.base for key, f in m.figures.items()} for name, m in there.items()}
    run.points[int(interval)] = (None if clock is None else clock.total_seconds(), bases)
    return None


def _cell(
    run: VdbenchRun,
    span: tuple[int, int],
    measured: tuple[dict[str, Measured], Measured | None],
    row: Mapping[str, str],
    step: float | None,
    n: int,
) -> ImportedCell:
    first, last = span
    sides, both = measured
    length = _length(run)
    ns = 0 if length is None else round(length * units.NS_PER_S)
    points = tuple(
        ImportedInterval(start_ns=(k - first) * ns, end_ns=(k - first + 1) * ns, sides=figures)
        for k, (_, figures) in sorted(run.points.items())
        if ns and first <= k <= last and figures
    )
    cpu = {
        word: share
        for word, key in (("busy", "cpu_used"), ("user", "cpu_user"), ("system", "cpu_kernel"))
        if (share := figure(row, key, "%", Dimension.SHARE, step)) is not None
    }
    return ImportedCell(
        name=run.name[:256], line=n, asked=run.asked, incomplete=run.incomplete, words={"ranges": "own"},
        seconds=None if length is None else (last - first + 1) * length, sides=sides, total=both, cpu=cpu,
        points=points, started_unix_ns=run.began_unix_ns,
    )  # fmt: skip


def _length(run: VdbenchRun) -> float | None:
    """Seconds of an interval, which are whole; None where there is one interval only."""
    times = [(k, at) for k, (at, _) in sorted(run.points.items()) if at is not None]
    if len(times) < 2 or times[-1][0] == times[0][0]:
        return None
    took = (times[-1][1] - times[0][1]) % 86400 / (times[-1][0] - times[0][0])
    return float(round(took)) or None


def asked_of(row: Mapping[str, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """(settings, what cannot be carried) of the columns of what was requested."""
    asked: dict[str, Any] = {}
    why: list[str] = []
    if (size := printed(row.get("xfersize", ""))) is not None and size.value > 0:
        asked["bs"] = round(size.value)
    if (threads := printed(row.get("threads", ""))) is not None:
        asked |= {"threads": round(threads.value), "iodepth": 1}
    mix, seek = printed(row.get("rdpct", "")), printed(row.get("seekpct", ""))
    if mix is not None and seek is not None and seek.value in (0.0, 100.0):
        asked["rw"] = ("rand" if seek.value else "") + {0.0: "write", 100.0: "read"}.get(mix.value, "rw")
        if 0 < mix.value < 100:
            asked["rwmixread"] = round(mix.value)
    elif seek is not None:
        why.append(f"seekpct={row['seekpct'][:20]}: part of it is sequential")
    for hits in ("rhpct", "whpct"):
        if (share := printed(row.get(hits, ""))) is not None and share.value:
            why.append(f"{hits}={row[hits][:20]}: hits of the cache are not supported")
    rate = printed(row.get("reqrate", ""))
    if rate is not None and 0 < rate.value < _UNCONTROLLED:
        asked["limit_iops"] = rate.value
    return asked, tuple(why)
