"""fio's terse output (``--minimal``, ``--output-format=terse``), versions 2 to 5.

Fields stand at fixed places, separated by ``;``, and the first says the version. Times are in µs, rates in KiB/s. Since
version 3 the second field is fio's version. A description in version 2 stands on the next line. What was asked for is
not in it: neither pattern nor size nor depth.
"""

from __future__ import annotations

import re

from strata.formats.results import _fio
from strata.formats.results._measured import NUMBER, cut, finely, whole
from strata.formats.results.source import Misread, Source, begins, room
from strata.model.figures import Dimension
from strata.model.imported import COMPLETION, Imported, ImportedCell, Measured

NAME, TITLE, ORDER = "fio-terse", "fio's terse output (--minimal)", 50

_LINE = re.compile(r"^(?:2;[^;\n]{0,256}|[345];(?:fio-)?[^;\n]{1,64};[^;\n]{0,256});\d+;\d+;\d+;\d+;")
_PERCENTILE = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)%=(\d{1,12})")
_SLOTS = 20
"""Places for percentiles; unused ones are ``0%=0``."""
_SIDE = 4 + 4 + 4 + _SLOTS + 4 + 5
"""Fields of a direction: counts, slat, clat, percentiles, lat, bandwidth."""
_MORE = 6
"""Further fields of a direction since version 5: samples of the bandwidth, and five of the IOPS."""
LINES_MOST = 100_000


def recognise(head: str) -> bool:
    return begins(head, _LINE.pattern)


def read(source: Source) -> Imported:
    """One cell for each line."""
    cells: list[ImportedCell] = []
    left: list[str] = []
    version = ""
    for n, line in enumerate(source.text().split("\n"), 1):
        if _LINE.match(line) is None:
            if line.strip() and not cells:
                left.append(f"line {n}: it is no result: {line.strip()[:60]!r}")
            continue
        room(cells, LINES_MOST, "results", n)
        cell, said = _cell(line, n)
        cells.append(cell)
        version = said or version
    return Imported(
        format=NAME, tool="fio", version=version, cells=tuple(cells), left_out=tuple(left[:20]),
        notes=("terse output says nothing of pattern, block size and depth",),
    )  # fmt: skip


def _cell(line: str, n: int) -> tuple[ImportedCell, str]:
    fields = line.split(";")
    kind = int(fields[0])
    at = 2 if kind == 2 else 3
    name = fields[at - 1]
    side = _SIDE + (_MORE if kind >= 5 else 0)
    # Which versions have one of trims depends on fio's, too.
    third = fields[at + 2 + 2 * side + 12 :][:1]
    sides = 3 if third and "%=" in third[0] else 2
    if len(fields) < at + 2 + 2 * side:
        raise Misread(f"a terse result of version {kind} has {len(fields)} fields, which is too few", n)
    error = fields[at + 1]
    found: dict[str, Measured] = {}
    spans: list[float] = []
    for word, start in zip(("read", "write", "trim")[:sides], range(at + 2, len(fields), side), strict=False):
        part = fields[start : start + side]
        if len(part) == side and (measured := _side(part, n)) is not None:
            found[word] = measured
            spans.append(float(part[3]) / 1000)
    cpu = fields[at + 2 + sides * side :]
    shares = {}
    for key, text in zip(("user", "system"), cpu[:2], strict=False):
        if text.endswith("%") and NUMBER.fullmatch(text[:-1]):
            shares[key] = finely(float(text[:-1]), "%", Dimension.SHARE)
    cell = ImportedCell(
        name=name[:256], line=n,
        seconds=max(spans, default=None), sides=found, total=whole(found) if len(found) > 1 else None, cpu=shares,
        words={} if error == "0" else {"error": error[:20]},
    )  # fmt: skip
    return cell, "" if kind == 2 else _fio.version_of(fields[1])


def _side(part: list[str], n: int) -> Measured | None:
    """Of the fields of one direction; None where it did nothing."""
    kib, rate, iops, ms = (_number(part[i], n) for i in range(4))
    if not (kib or iops) or not ms:
        return None
    figures = {
        "bytes": cut(kib, "KiB", Dimension.BYTES),
        "rate": cut(rate, "KiB/s", Dimension.RATE),
        "iops": cut(iops),
    }
    clat, lat = part[8:12], part[12 + _SLOTS : 16 + _SLOTS]
    submit = _number(part[6], n)
    has_lat = _number(lat[2], n) > 0
    times = lat if has_lat else clat
    if (mean := _number(times[2], n)) > 0:
        figures["time.mean"] = finely(mean, "us", Dimension.TIME)
    if not has_lat or submit <= 0.1 * mean:
        for word, text in (("min", clat[0]), ("max", clat[1])):
            figures[f"time.{word}"] = cut(_number(text, n), "us", Dimension.TIME)
        for slot in part[12 : 12 + _SLOTS]:
            pair = _PERCENTILE.fullmatch(slot)
            if pair is None:
                raise Misread(f"{slot[:40]!r} is not a percentile", n)
            if 0 < float(pair[1]) <= 100:
                figures[f"time.p{float(pair[1]):.10g}"] = _fio.of_bucket(
                    float(pair[2]) * 1000, 1000.0, submit_ns=submit * 1000 if has_lat else 0.0,
                    most_ns=_number(clat[1], n) * 1000,
                )  # fmt: skip
    return Measured(figures=figures, clock="" if has_lat else COMPLETION)


def _number(text: str, n: int) -> float:
    if not NUMBER.fullmatch(text) or len(text) > 40:
        raise Misread(f"{text[:40]!r} is not a number", n)
    return float(text)
