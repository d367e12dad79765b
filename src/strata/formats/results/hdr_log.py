"""HdrHistogram's interval logs (1.2 and 1.3): one cell for each tag, its intervals as its course.

A line is start and length in s, the maximum, and a histogram. Nothing says the unit of its values; the maximum is
printed divided by a ratio, 10^6 by default, which makes ms of ns. The unit is read off that ratio, and said.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from strata import units
from strata.formats.results import _hdr
from strata.formats.results._measured import printed
from strata.formats.results.source import Misread, Source, begins
from strata.model import histogram
from strata.model.figures import Dimension, Figure, exact
from strata.model.imported import Imported, ImportedCell, ImportedInterval, Measured

NAME, TITLE, ORDER = "hdr-log", "HdrHistogram's interval log (.hlog)", 46

_LINE = re.compile(
    r"(?:Tag=([^,\s]{1,256}),)?(\d{1,12}(?:\.\d{1,9})?),(\d{1,12}(?:\.\d{1,9})?),(\d{1,15}(?:\.\d{1,9})?),"
    r"([A-Za-z0-9+/=]{40,})"
)
_TIME = re.compile(r"#\[(StartTime|BaseTime): (\d{1,12}(?:\.\d{1,9})?)")
_UNITS = {1e6: ("ns", 1), 1e3: ("us", 1000)}
"""By the ratio of the printed maxima: what values are, and ns of one. The ms of ns, and the ms of µs."""
_YEAR_S = 365 * 86400
_SHOWN = ("50", "90", "99", "99.9")
INTERVALS_MOST = 100_000
NO_TAG = "untagged"
"""What lines without a tag are called. They are not the whole of the tagged ones."""


@dataclass
class _Tag:
    """``intervals``: start and length in s, values and their sum; ``counts``: of all by the upper edge of a bucket.

    ``low``: the sum of the lower edges; ``most``: the upper edge of the last bucket.
    """

    line: int
    intervals: list[tuple[float, float, int, float]] = field(default_factory=list)
    counts: Counter[int] = field(default_factory=Counter)
    low: int = 0
    most: int = 0


def recognise(head: str) -> bool:
    return begins(head, r"^#\[Histogram log format version") or begins(head, rf"^{_LINE.pattern}")


def read(source: Source) -> Imported:
    """Values are ns or µs; a log whose maxima are its values is refused."""
    tags: dict[str, _Tag] = {}
    times: dict[str, float] = {}
    ratios: Counter[float] = Counter()
    finest, n = 5, 0
    total = 0
    for n, line in enumerate(source.lines(), 1):
        if (stamp := _TIME.match(line)) is not None:
            times[stamp[1]] = float(stamp[2])
        if not line or line[0] in '#"':
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise Misread("it is no interval: [Tag=NAME,]start,length,maximum,histogram", n)
        total += 1
        if total > INTERVALS_MOST:
            raise Misread(f"more than {INTERVALS_MOST} intervals", n)
        digits, there = _hdr.buckets(found[5])
        tag = tags.setdefault(found[1] or "", _Tag(n))
        finest = min(finest, digits)
        ios, twice = sum(c for *_, c in there), sum((low + high) * c for low, high, c in there)
        tag.intervals.append((float(found[2]), float(found[3]), ios, twice / 2))
        for low, high, count in there:
            tag.counts[high] += count
            tag.low += low * count
        if there:
            tag.most = max(tag.most, there[-1][1])
            ratios[_ratio(there[-1], found[4])] += 1
    ratio = _agreed(ratios)
    unit, scale = _UNITS[ratio]
    start = _start(times, min((t.intervals[0][0] for t in tags.values()), default=0.0))
    cells = tuple(cell for name, tag in tags.items() if (cell := _cell(name, tag, scale, start, finest)) is not None)
    return Imported(
        format=NAME, tool="HdrHistogram", cells=cells,
        notes=(f"its values are taken for {unit}: its maxima are values ÷ {ratio:,.0f}, which are ms",
               f"a value is known to {finest} significant digits"),
    )  # fmt: skip


def _ratio(last: tuple[int, int, int], said: str) -> float:
    """Of a line: the one of `_UNITS` by which the printed maximum is that of the histogram; 0 for no such."""
    figure = printed(said)
    if figure is None or figure.value == 0:
        return 0.0
    # Some writers cut the places off.
    around = 10.0 ** -min(3, len(said.partition(".")[2].rstrip("0"))) if "." in said else 1.0
    for ratio in _UNITS:
        if last[0] / ratio - around <= figure.value <= last[1] / ratio + around:
            return ratio
    return 0.0


def _agreed(ratios: Counter[float]) -> float:
    known = [ratio for ratio in ratios if ratio]
    if len(known) == 1:
        return known[0]
    raise Misread(
        "nothing says the unit of its values: the maxima of its lines are neither values ÷ 1000 nor ÷ 1 000 000; write "
        "it with a ratio that makes them ms"
    )


def _start(times: dict[str, float], first: float) -> float | None:
    """Seconds since the epoch to which the times of lines are added; None where they say nothing of it."""
    if "BaseTime" in times:
        return times["BaseTime"]
    if "StartTime" in times and first < times["StartTime"] - _YEAR_S:
        return times["StartTime"]
    return 0.0 if first > _YEAR_S else None


def _cell(name: str, tag: _Tag, scale: int, start: float | None, digits: int) -> ImportedCell | None:
    count = sum(tag.counts.values())
    if not count:
        return None
    first, last = tag.intervals[0][0], max(begin + length for begin, length, *_ in tag.intervals)
    high = sum(value * n for value, n in tag.counts.items())
    figures = {
        "ios": exact(count), **({"iops": exact(count / (last - first))} if last > first else {}),
        "time.mean": exact((tag.low + high) / 2 / count * scale, Dimension.TIME, low=tag.low / count * scale,
                           high=high / count * scale),
        "time.max": exact(tag.most * scale, Dimension.TIME),
    }  # fmt: skip
    payload = histogram.from_bins({value * scale: n for value, n in tag.counts.items()})
    values = histogram.quantiles(payload, [float(p) / 100 for p in _SHOWN])
    figures |= {f"time.p{p}": _within(ns, digits) for p, ns in zip(_SHOWN, values, strict=True)}
    began = None if start is None else round((start + first) * units.NS_PER_S)
    points = []
    for begin, length, ios, sum_ in tag.intervals:
        if length > 0 and begin >= first and ios:
            of = {"ios": float(ios), "iops": ios / length, "time.mean": sum_ / ios * scale}
            at = round((begin - first) * units.NS_PER_S)
            points.append(
                ImportedInterval(start_ns=at, end_ns=at + round(length * units.NS_PER_S), sides={"total": of})
            )
    return ImportedCell(
        name=name or NO_TAG, line=tag.line, seconds=last - first or None, points=tuple(points), started_unix_ns=began,
        total=Measured(figures=figures, histogram=payload),
    )  # fmt: skip


def _within(ns: int, digits: int) -> Figure:
    """A percentile: the upper edge of its bucket, here and in the log."""
    return exact(ns, Dimension.TIME, low=ns * (0.999 - 10.0**-digits), high=float(ns))
