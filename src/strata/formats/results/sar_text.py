"""Disks in sar's text (``sar -d``) and sadf's lines (``sadf -d``).

sar writes the time alone, after the day in its head; past midnight the day goes on. sadf's lines have fields separated
by ``;`` under a head that begins with ``#``; their times are UTC unless it ran with ``-t``. Averages, restarts and
comments are no samples.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from strata.formats.results._counters import Sampled
from strata.formats.results._sysstat import HEAD, date_of, moment_of, ns_of, time_of, unit_of, value_of
from strata.formats.results.source import Misread, Source, begins, row_of
from strata.model.imported import Imported

NAME, TITLE, ORDER = "sar-text", "disks in sar's text (sar -d) and sadf's lines (sadf -d)", 120

_LINE = re.compile(r"^(\d\d:\d\d:\d\d(?: [AP]M)?)\s+(\S+)\s+(.*)$")


def recognise(head: str) -> bool:
    return begins(head, r"^\d\d:\d\d:\d\d(?: [AP]M)?\s+DEV\s+tps") or begins(
        head, r"^# hostname;interval;timestamp;DEV;"
    )


def read(source: Source) -> Imported:
    """Series for each column of each device."""
    return _lines(source) if begins(source.head, "^# hostname;") else _text(source)


def _text(source: Source) -> Imported:
    sampled, left = Sampled(), set[str]()
    host = system = ""
    day: datetime | None = None
    before = timedelta(0)
    columns: list[str] = []
    for n, line in enumerate(source.lines(), 1):
        if (head := HEAD.match(line)) is not None:
            system, host, day = f"Linux {head[1]}"[:100], head[2][:256], date_of(head[3])
            before = timedelta(0)
        elif (found := _LINE.match(line)) is not None:
            time = time_of(found[1])
            if found[2] == "DEV":
                columns = found[3].split()
            elif found[2] == "COM":
                left.add("comments")
            elif columns and time is not None and day is not None:
                if time < before:
                    day += timedelta(days=1)
                before = time
                _add(sampled, found[2][:256], row_of(columns, found[3].split(), n), ns_of(day + time), left)
            elif "RESTART" in line:
                left.add("restarts of the machine")
            else:
                columns = []
        elif line.startswith("Average:"):
            left.add("averages: they are those of the samples")
        elif not line.strip():
            # Another table may follow (sar -A): each has its head.
            columns = []
    if day is None:
        raise Misread("the day of its times is not in its head")
    return _made(sampled, left, host, system, ("the zone of its times is not said: taken for UTC",))


def _lines(source: Source) -> Imported:
    sampled, left = Sampled(), set[str]()
    host = ""
    columns: list[str] = []
    utc = True
    for n, line in enumerate(source.lines(), 1):
        fields = line.split(";")
        if line.startswith("# hostname;"):
            columns = fields[4:] if len(fields) > 4 and fields[3] == "DEV" else []
            if not columns:
                left.add("what is not of disks")
        elif line.startswith("#") or not line.strip():
            continue
        elif len(fields) > 3 and ("RESTART" in fields[3] or "COM" in fields[3][:10]):
            left.add("restarts and comments")
        elif columns:
            if len(fields) != len(columns) + 4:
                raise Misread(f"{len(fields)} fields where its head has {len(columns) + 4}", n)
            moment = moment_of(fields[2].removesuffix(" UTC"))
            if moment is None:
                raise Misread(f"{fields[2][:40]!r} is not a time", n)
            utc = utc and fields[2].endswith("UTC")
            host = fields[0][:256]
            _add(sampled, fields[3][:256], dict(zip(columns, fields[4:], strict=True)), ns_of(moment), left)
    notes = () if utc else ("the zone of its times is not said (sadf -t): taken for UTC",)
    return _made(sampled, left, host, "", notes)


def _add(sampled: Sampled, of: str, row: dict[str, str], at: int, left: set[str]) -> None:
    for column, text in row.items():
        unit, value = unit_of(column), value_of(text)
        if unit is None:
            left.add(f"{column[:60]}: its unit is not known")
        elif value is not None:
            sampled.add(f"sar {column}", unit, of, at, value)


def _made(sampled: Sampled, left: set[str], host: str, system: str, notes: tuple[str, ...]) -> Imported:
    series = sampled.series({"tool": "sar"})
    return Imported(
        format=NAME, tool="sar", host=host, system=system, counters=series, notes=notes, left_out=tuple(sorted(left)),
    )  # fmt: skip
