"""iostat's text, of all eras of its columns.

``await``, ``avgrq-sz`` and ``svctm`` until 11; ``r_await`` and ``rareq-sz`` since 12, then ``d/s`` and ``f/s`` as well.
The first report is of the time since boot, and is left out. ``kB`` and ``MB`` are 2^10 and 2^20 bytes. Without ``-t``
reports have no time: they are one second apart from the day in the head, which the notes say.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from strata.formats.results._counters import Sampled
from strata.formats.results._sysstat import HEAD, date_of, moment_of, ns_of, unit_of, value_of
from strata.formats.results.source import Misread, Source, begins
from strata.model.imported import Imported
from strata.units import NS_PER_S

NAME, TITLE, ORDER = "iostat-text", "iostat's text", 110

_DEVICES = re.compile(r"^(?:Device|Filesystem)(?::|\s)")
REPORTS_MOST = 1_000_000


def recognise(head: str) -> bool:
    return begins(head, r"^Device:?\s.*(?:tps|r/s|%util)") and not begins(head, r"^\d\d:\d\d:\d\d.*\bDEV\b")


def read(source: Source) -> Imported:
    """Series for each column of each device, and of the CPUs."""
    return reports(source, "iostat")


def reports(source: Source, tool: str) -> Imported:
    """The same of another tool of its kind, as ``cifsiostat`` is: its metrics begin with ``tool``."""
    sampled, since = Sampled(), set[str]()
    host = system = ""
    day: datetime | None = None
    at: datetime | None = None
    columns: list[str] = []
    cpu: list[str] = []
    report, timed, unknown = 0, False, set[str]()
    for n, line in enumerate(source.lines(), 1):
        said = line.strip()
        if not said:
            columns, cpu = [], []
        elif (head := HEAD.match(line)) is not None:
            system, host, day = f"Linux {head[1]}"[:100], head[2], date_of(head[3])
        elif (moment := moment_of(said)) is not None:
            at, timed = moment, True
        elif said.startswith("avg-cpu"):
            report, cpu, columns = report + 1, said.partition(":")[2].split(), []
        elif _DEVICES.match(line) is not None:
            report += not since or "d" in since
            since = {"d"}
            columns = said.split()[1:]
        elif cpu:
            _row(sampled, f"{tool} ", ("", cpu, said.split()), _when(at, day, report), report, unknown)
            since, cpu = {"c"}, []
        elif columns:
            # A share of a server may have blanks in its name.
            name, *values = said.rsplit(None, len(columns)) if tool != "iostat" else said.split()
            if len(values) != len(columns):
                raise Misread(f"{len(values)} values for {len(columns)} columns of devices", n)
            _row(sampled, f"{tool} ", (name[:256], columns, values), _when(at, day, report), report, unknown)
        if report > REPORTS_MOST:
            raise Misread(f"more than {REPORTS_MOST} reports", n)
    if not sampled.held and report:
        raise Misread(f"its only report is of the time since boot: {tool} 1 N gives reports of intervals")
    notes = [] if timed else ["reports have no time (-t): one second apart from the day in its head"]
    left = ["the first report: it is of the time since boot"]
    if unknown:
        left.append(f"columns whose unit is not known: {', '.join(sorted(unknown)[:10])}")
    series = sampled.series({"tool": tool})
    return Imported(
        format=NAME, tool=tool, host=host[:256], system=system, counters=series, notes=tuple(notes),
        left_out=tuple(left),
    )  # fmt: skip


def _when(at: datetime | None, day: datetime | None, report: int) -> int:
    if at is not None:
        return ns_of(at)
    return ns_of(day or datetime.fromtimestamp(0, UTC)) + report * NS_PER_S


def _row(
    sampled: Sampled, tool: str, row: tuple[str, list[str], list[str]], at_ns: int, report: int, unknown: set[str]
) -> None:
    of, columns, values = row
    if report <= 1:
        return
    for column, text in zip(columns, values, strict=False):
        unit, value = unit_of(column), value_of(text)
        if unit is None:
            unknown.add(column[:40])
        elif value is not None:
            sampled.add(f"{tool}{column}", unit, of, at_ns, value)
