"""fio's logs: one line for each I/O or window (``write_lat_log`` and its like), and histograms (``write_hist_log``).

A line of a log is a time in ms, a value, a direction and a size, and up to three more. What the value is stands in none
of them: fio's own ending of the name says it (``_bw``, ``_iops``, ``_lat``, ``_clat``, ``_slat``), and notes say so.
Times are in ns since 3.0, in µs before. Without windows each line is an I/O, and the log is a distribution; with them
(``log_avg_msec``) it holds means alone. Bins of a histogram log are in ns since 3.0 (29 groups of 64) and in µs before
(19), and each line holds those since the one before: their sum is exact.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from strata.formats.results.source import Misread, Source, begins
from strata.model import histogram
from strata.model.figures import Dimension, Figure, exact
from strata.model.imported import COMPLETION, Imported, ImportedCell, ImportedInterval, Measured
from strata.units import KIB, NS_PER_S

NAME, TITLE, ORDER = "fio-log", "a log of fio (write_lat_log, write_bw_log, write_iops_log, write_hist_log)", 90

_LINE = r"^\d{1,13}, ?\d{1,19}, ?[0-3], ?\d{1,12}(?:, ?(?:0x)?[0-9a-fA-F]{1,20}){0,3}$"
_HISTOGRAM = r"^\d{1,13}, ?[0-3], ?\d{1,12}(?:, ?\d{1,12}){70,}$"
_DIRECTIONS = ("read", "write", "trim", "sync")
_KINDS = {
    "bw": "bandwidth", "iops": "IOPS", "lat": "response times", "clat": "completion times", "slat": "submission times",
}  # fmt: skip
_NAMED = re.compile(r"_(bw|iops|clat|slat|lat)(?:\.\d+)?\.log$")
_MANTISSA = 11
"""Bits of a time that are kept: 0.05 %."""
_SECONDS_MOST = 10_000_000
POINTS_MOST = 10_000
_GROUPS = {1856: 1.0, 1216: 1000.0}
"""ns of the unit, by the number of bins."""
_QUANTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)


def recognise(head: str) -> bool:
    whole = head.rpartition("\n")[0] or head
    first = [line for line in whole.split("\n", 12)[:12] if line.strip()]
    if len(head) >= 200_000 and "\n" not in head[:200_000]:
        return False
    return bool(first) and all(begins(line, _LINE) or begins(line, _HISTOGRAM) for line in first)


@dataclass
class _Lane:
    """The lines of one direction."""

    lines: int = 0
    total: float = 0.0
    bytes: int = 0
    low: int = 1 << 62
    high: int = 0
    bins: dict[int, int] = field(default_factory=dict)
    seconds: dict[int, list[float]] = field(default_factory=dict)
    """By second from the beginning: lines, bytes, the sum of the values."""


_NO_BYTES = 10
"""Added to the direction of a line without bytes: the mean of a window, or a flush."""


@dataclass
class _Log:
    lanes: dict[int, _Lane] = field(default_factory=dict)
    columns: int = 0
    first_ms: int | None = None
    last_ms: int = 0
    back: int = 0
    sizes: set[int] = field(default_factory=set)
    lines: int = 0


def read(source: Source) -> Imported:
    """One cell."""
    if begins(source.head, _HISTOGRAM) and not begins(source.head, _LINE):
        return _histograms(source)
    log = _Log()
    for block in source.blocks():
        _take(log, block)
    kind = _NAMED.search(source.name)
    word = "" if kind is None else kind[1]
    notes = []
    windowed = log.sizes == {0}
    bare = {n - _NO_BYTES: log.lanes.pop(n) for n in sorted(log.lanes) if n >= _NO_BYTES}
    if windowed:
        log.lanes = bare
    elif bare:
        flushes = sum(lane.lines for lane in bare.values())
        notes.append(f"{flushes} lines of no bytes are left out: old versions log flushes as reads")
    if not word:
        left: tuple[str, ...] = ("what its values are: fio says it in the name alone (_bw, _iops, _lat, _clat, _slat)",)
    else:
        left = ()
        notes.append(f"its values are {_KINDS[word]}: its name says so, nothing in it does")
    if windowed:
        notes.append("each line is the mean of a window (log_avg_msec): no distribution follows from it")
    scale, said = _unit(log, word)
    notes += [said] if said else []
    if log.back:
        notes.append(f"{log.back} lines are earlier than the one before: several jobs or threads wrote them")
    seconds = max(0, log.last_ms - (log.first_ms or 0)) / 1000
    sides = {
        _DIRECTIONS[n]: _measured(lane, word, scale, seconds, windowed) for n, lane in sorted(log.lanes.items())
    }  # fmt: skip
    asked: dict[str, Any] = {"bs": max(log.sizes)} if len(log.sizes - {0}) == 1 else {}
    cell = ImportedCell(
        name=_KINDS.get(word, "a log"), line=1, asked=asked, seconds=seconds or None, sides=sides,
        points=_points(log, word, scale, windowed),
    )  # fmt: skip
    return Imported(format=NAME, tool="fio", cells=(cell,), notes=tuple(notes), left_out=left)


def _take(log: _Log, block: bytes) -> None:
    plain = block.replace(b"\r", b"")
    if not plain.endswith(b"\n"):
        plain += b"\n"
    lines = plain.count(b"\n")
    commas = plain.count(b",")
    rows = None
    if commas and commas % lines == 0 and b"x" not in plain:
        columns = commas // lines + 1
        numbers = np.fromstring(plain.replace(b",", b" ").decode("ascii", "replace"), dtype=np.int64, sep=" ")
        if numbers.size == lines * columns and columns >= 4:
            rows = numbers.reshape(lines, columns)
    if rows is None or rows.min() < 0 or rows[:, 2].max() > 3 or rows[:, :4].max() >= 1 << 62:
        rows = _one_by_one(plain, log.lines)
    log.lines += lines
    if rows.size:
        _add(log, rows)


def _one_by_one(block: bytes, before: int) -> np.ndarray[Any, Any]:
    """The first four columns. Raises `Misread` with the line that is none."""
    found = []
    for n, line in enumerate(block.decode("utf-8", "replace").split("\n")[:-1], before + 1):
        if not line.strip():
            continue
        if re.match(_LINE, line.strip()) is None:
            raise Misread(f"{line[:60]!r} is no line of a log", n)
        found.append([int(word) for word in line.split(",")[:4]])
    return np.array(found, dtype=np.int64).reshape(len(found), 4)


def _add(log: _Log, rows: np.ndarray[Any, Any]) -> None:
    times, values, directions, sizes = (rows[:, i] for i in range(4))
    log.columns = max(log.columns, rows.shape[1])
    if log.first_ms is None:
        log.first_ms = int(times[0])
    log.back += int(np.count_nonzero(np.diff(times) < 0)) + int(times[0] < log.last_ms)
    log.last_ms = max(log.last_ms, int(times.max()))
    log.first_ms = min(log.first_ms, int(times.min()))
    if log.last_ms > _SECONDS_MOST * 1000:
        raise Misread(f"a time of {log.last_ms / 1000:.0f} s is beyond the {_SECONDS_MOST} s that are read")
    if len(log.sizes) < 1000:
        log.sizes |= set(np.unique(sizes).tolist()[:1000])
    directions = np.where(sizes == 0, directions + _NO_BYTES, directions)
    for direction in np.unique(directions).tolist():
        at = directions == direction
        lane = log.lanes.setdefault(int(direction), _Lane())
        mine, bytes_, when = values[at], sizes[at], times[at] // 1000
        lane.lines += mine.size
        lane.total += float(mine.sum(dtype=np.float64))
        lane.bytes += int(bytes_.sum())
        lane.low, lane.high = min(lane.low, int(mine.min())), max(lane.high, int(mine.max()))
        # To so many bits: a log of a hundred million times has a few thousand different ones.
        shift = np.maximum(np.frexp(mine.astype(np.float64))[1] - _MANTISSA, 0)
        kept, counts = np.unique((mine >> shift) << shift, return_counts=True)
        for value, n in zip(kept.tolist(), counts.tolist(), strict=True):
            lane.bins[value] = lane.bins.get(value, 0) + n
        first = int(when.min())
        ios = np.bincount(when - first)
        moved = np.bincount(when - first, weights=bytes_)
        sums = np.bincount(when - first, weights=mine)
        for second in np.flatnonzero(ios).tolist():
            held = lane.seconds.setdefault(first + second, [0.0, 0.0, 0.0])
            held[0] += float(ios[second])
            held[1] += float(moved[second])
            held[2] += float(sums[second])


def _unit(log: _Log, word: str) -> tuple[float, str]:
    """(ns of the unit of times, how that was inferred)."""
    if word not in ("lat", "clat", "slat"):
        return 1.0, ""
    if log.columns >= 5:
        return 1.0, "times are in ns: a log of five columns is of fio 3.x"
    lines = sum(lane.lines for lane in log.lanes.values())
    mean = sum(lane.total for lane in log.lanes.values()) / max(1, lines)
    if mean < 2000:
        return 1000.0, "times are in µs, as fio before 3.0 prints them: in ns their mean would be below 2 µs"
    return 1.0, "times are taken for ns, as fio prints them since 3.0; before it they would be µs"


def _measured(lane: _Lane, word: str, scale: float, seconds: float, windowed: bool) -> Measured:
    mean = lane.total / max(1, lane.lines)
    figures: dict[str, Figure] = {}
    if word in ("lat", "clat"):
        figures["time.mean"] = exact(mean * scale, Dimension.TIME)
        if not windowed:
            figures["time.min"] = exact(lane.low * scale, Dimension.TIME)
            figures["time.max"] = exact(lane.high * scale, Dimension.TIME)
    elif word == "bw" and windowed:
        figures["rate"] = exact(mean * KIB, Dimension.RATE)
    elif word == "iops" and windowed:
        figures["iops"] = exact(mean)
    if windowed:
        return Measured(figures=figures, clock=COMPLETION if word == "clat" else "")
    figures["ios"] = exact(lane.lines)
    figures["bytes"] = exact(lane.bytes, Dimension.BYTES)
    if seconds:
        figures["iops"] = exact(lane.lines / seconds)
        figures["rate"] = exact(lane.bytes / seconds, Dimension.RATE)
    payload = None
    if word in ("lat", "clat"):
        payload = histogram.from_bins({max(1, round(v * scale)): n for v, n in lane.bins.items()})
        figures |= _percentiles(payload, lane.lines)
    return Measured(figures=figures, histogram=payload, clock=COMPLETION if word == "clat" else "")


def _percentiles(payload: str, ios: int) -> dict[str, Figure]:
    """Those that so many I/Os carry."""
    carried = [p for p in _QUANTILES if ios * (1 - p / 100) >= 1]
    times = histogram.quantiles(payload, [p / 100 for p in carried])
    # Known to a bucket.
    return {
        f"time.p{p:.10g}": exact(t, Dimension.TIME, low=t * 0.998, high=t * 1.002)
        for p, t in zip(carried, times, strict=True)
    }


def _points(log: _Log, word: str, scale: float, windowed: bool) -> tuple[ImportedInterval, ...]:
    """Second by second, or by so many seconds that there are no more than `POINTS_MOST`."""
    begin = (log.first_ms or 0) // 1000
    wide = max(1, math.ceil((log.last_ms // 1000 - begin + 1) / POINTS_MOST))
    made: dict[int, dict[str, list[float]]] = {}
    for number, lane in log.lanes.items():
        for second, (lines, moved, total) in lane.seconds.items():
            held = made.setdefault((second - begin) // wide, {}).setdefault(_DIRECTIONS[number], [0.0, 0.0, 0.0])
            held[0], held[1], held[2] = held[0] + lines, held[1] + moved, held[2] + total
    points = []
    for at, sides in sorted(made.items()):
        said: dict[str, dict[str, float]] = {}
        for side, (lines, moved, total) in sides.items():
            mean = total / lines
            said[side] = {} if windowed else {"ios": lines, "bytes": moved}
            if word in ("lat", "clat"):
                said[side]["time.mean"] = mean * scale
            elif windowed and word in ("bw", "iops"):
                said[side]["rate" if word == "bw" else "iops"] = mean * (KIB if word == "bw" else 1)
        points.append(
            ImportedInterval(start_ns=at * wide * NS_PER_S, end_ns=(at + 1) * wide * NS_PER_S, sides=said)
        )  # fmt: skip
    return tuple(points)


def _histograms(source: Source) -> Imported:
    sums: dict[int, np.ndarray[Any, Any]] = {}
    sizes: set[int] = set()
    first = last = 0
    for n, line in enumerate(source.lines(), 1):
        if not line.strip():
            continue
        if re.match(_HISTOGRAM, line.strip()) is None:
            raise Misread(f"{line[:60]!r} is no line of a histogram log", n)
        row = np.array([int(word) for word in line.split(",")], dtype=np.int64)
        direction, bins = int(row[1]), row[3:]
        if direction in sums and sums[direction].size != bins.size:
            raise Misread(f"a line of {bins.size} bins among lines of {sums[direction].size}", n)
        sums[direction] = bins if direction not in sums else sums[direction] + bins
        sizes.add(int(row[2]))
        first, last = (int(row[0]) if n == 1 else first), max(last, int(row[0]))
    sides, notes = {}, []
    for direction, bins in sorted(sums.items()):
        values, scale, coarse = _values(bins.size)
        notes.append(
            f"{bins.size} bins: times in {'ns, of fio 3.x' if scale == 1.0 else 'µs, of fio 2.x'}"
            + (f", {2**coarse} bins as one" if coarse else "")
        )
        counts = bins.tolist()
        ios = sum(counts)
        if not ios:
            continue
        held = {max(1, round(v * scale)): c for v, c in zip(values, counts, strict=True) if c}
        payload = histogram.from_bins(held)
        mean = sum(v * c for v, c in held.items()) / ios
        around = mean / 64 * 2**coarse
        figures = {
            "ios": exact(ios),
            "time.mean": exact(mean, Dimension.TIME, low=mean - around, high=mean + around),
            **_percentiles(payload, ios),
        }
        sides[_DIRECTIONS[direction]] = Measured(figures=figures, histogram=payload, clock=COMPLETION)
    asked = {"bs": sizes.pop()} if len(sizes) == 1 else {}
    cell = ImportedCell(
        name="completion times", line=1, asked={k: v for k, v in asked.items() if v}, sides=sides,
        seconds=last / 1000 or None,
    )  # fmt: skip
    return Imported(format=NAME, tool="fio", cells=(cell,) if sides else (), notes=tuple(dict.fromkeys(notes)))


def _values(bins: int) -> tuple[list[float], float, int]:
    """(the middle of each bin in the unit, ns of the unit, log2 of the bins that are one). Raises `Misread`."""
    for whole, scale in _GROUPS.items():
        for coarse in range(7):
            if whole >> coarse == bins and whole % (1 << coarse) == 0:
                edges = [_edge(i << coarse) for i in range(bins + 1)]
                return [(a + b - 1) / 2 for a, b in pairwise(edges)], scale, coarse
    raise Misread(f"{bins} bins are of no version of fio that is known")


def _edge(index: int) -> int:
    """The first value of a bin of fio's: exact below 128, then 64 bins for each power of two."""
    if index < 128:
        return index
    group = (index >> 6) - 1
    return (64 + index % 64) << group
