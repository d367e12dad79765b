"""Counters of Windows as CSV: Performance Monitor, ``typeperf`` and ``relog -f csv``.

The head names a format, a zone and minutes west of UTC; each column is a counter of a host, an object and an instance,
in the language of the machine. Days are written with the month first whatever the language. A blank or ``-1`` is a
sample that was lost, and is left out. The unit of a counter is in its name alone.
"""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime, timedelta

from strata.formats.results._counters import Sampled
from strata.formats.results._sysstat import ns_of, value_of
from strata.formats.results.source import Misread, Source
from strata.model.imported import Imported

NAME, TITLE, ORDER = "pdh-csv", "Windows' counters as CSV (Performance Monitor, typeperf, relog -f csv)", 80

_FIRST = re.compile(r'^"?\(PDH-CSV 4\.0\)\s*(?:\((?P<zone>[^()"]{0,100})\)?)?\s*(?:\((?P<minutes>-?\d{1,4})\))?')
_COUNTER = re.compile(r"^\\\\(?P<host>[^\\]+)\\(?P<object>.*?)(?:\((?P<of>.*)\))?\\(?P<counter>[^\\]+)$")
_WHEN = re.compile(r"(\d\d)/(\d\d)/(\d{4}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
COLUMNS_MOST = 20_000


def recognise(head: str) -> bool:
    return head.lstrip("\ufeff \n")[:20].lstrip('"').startswith("(PDH-CSV 4.0")


def read(source: Source) -> Imported:
    """A series for each counter."""
    rows = csv.reader(source.lines())
    try:
        # typeperf begins with a blank line.
        head = next(row for row in rows if row)
    except (csv.Error, StopIteration) as e:
        raise Misread(f"its head cannot be read: {e}", 1) from e
    if len(head) > COLUMNS_MOST:
        raise Misread(f"it has {len(head)} columns, at most {COLUMNS_MOST} are read", 1)
    first = _FIRST.match(head[0])
    west = None if first is None or first["minutes"] is None else int(first["minutes"])
    notes = []
    if west is None:
        notes.append("its head does not say how far its clock is from UTC: its times are taken for UTC")
    else:
        side = "ahead of" if west < 0 else "behind"
        notes.append(f"its clock is {abs(west)} minutes {side} UTC" if west else "its clock is UTC")
    columns, left = _columns(head)
    sampled = Sampled()
    lost = 0
    try:
        for row in rows:
            n = rows.line_num
            if not row or not row[0][:1].isdigit():
                # What typeperf says at its end.
                continue
            at = _when(row[0], west or 0)
            if at is None:
                raise Misread(f"{row[0][:40]!r} is not a time as Windows writes it (month/day/year)", n)
            for text, column in zip(row[1:], columns, strict=False):
                if column is None:
                    continue
                value = value_of(text) if len(text) < 30 else _long(text)
                if value is None or value == -1:
                    lost += 1
                    continue
                sampled.add(column[0], "", column[1], at, value)
    except csv.Error as e:
        raise Misread(f"it is not CSV: {e}", rows.line_num) from e
    if lost:
        left.append(f"{lost} samples that are blank or -1: Windows lost them")
    hosts = {host for column in head[1:] if (found := _COUNTER.match(column)) and (host := found["host"])}
    series = sampled.series({"tool": "perfmon"})
    return Imported(
        format=NAME, tool="perfmon", host=hosts.pop()[:256] if len(hosts) == 1 else "", counters=series,
        notes=tuple(notes), left_out=tuple(left),
    )  # fmt: skip


def _columns(head: list[str]) -> tuple[list[tuple[str, str] | None], list[str]]:
    """(counter, instance) of each column; None for one that was there before or is no counter, and what is left out."""
    seen: set[str] = set()
    found: list[tuple[str, str] | None] = []
    left: list[str] = []
    for name in head[1:]:
        counter = _COUNTER.match(name)
        if counter is None:
            left.append(f"column {name[:80]!r}: it is no counter")
            found.append(None)
        elif name in seen:
            left.append(f"column {name[:80]!r}: it appears twice")
            found.append(None)
        else:
            seen.add(name)
            found.append((f"{counter['object']}\\{counter['counter']}"[:256], (counter["of"] or "")[:256]))
    more = len(left) - 20
    return found, [*left[:20], f"and {more} more columns"] if more > 0 else left


def _when(text: str, west: int) -> int | None:
    found = _WHEN.fullmatch(text.strip())
    if found is None:
        return None
    month, day, year, hour, minute, second = (int(found[i]) for i in range(1, 7))
    try:
        moment = datetime(year, month, day, hour, minute, second, int((found[7] or "0").ljust(6, "0")), UTC)
    except ValueError:
        return None
    return ns_of(moment + timedelta(minutes=west))


def _long(text: str) -> float | None:
    """A number with more places than a counter has: ``0.000000000000000000000001``, ``1.5e-05``."""
    word = text.strip()
    return float(word) if re.fullmatch(r"-?\d{1,20}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,2})?", word) else None
