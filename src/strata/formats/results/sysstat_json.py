"""The JSON of iostat (``-o JSON``) and of sadf (``-j``).

iostat's first statistics are of the time since boot and are left out; without a time (``-t``) they are a second apart.
``rrqm/s`` is a rate, ``rrqm`` a share. sadf says interval and zone of each; restarts of the machine are notes.
"""

from __future__ import annotations

from typing import Any

from strata.formats.results._counters import Sampled
from strata.formats.results._sysstat import date_of, moment_of, ns_of, time_of, unit_of
from strata.formats.results.source import Source, documents_with
from strata.model.imported import Imported
from strata.units import NS_PER_S, plural

NAME, TITLE, ORDER = "sysstat-json", "the JSON of iostat (-o JSON) and sadf (-j)", 100

_NAMES = ("disk_device", "disk-device", "cpu", "iface")
_PROCESSORS = ("user", "nice", "system", "iowait", "steal", "idle")


def recognise(head: str) -> bool:
    return '"sysstat"' in head and '"hosts"' in head


def read(source: Source) -> Imported:
    """Series of disks, CPUs and interfaces, of every host."""
    sampled, left, notes = Sampled(), set[str](), []
    host = system = ""
    tool = "sadf" if "cpu-load" in source.head or '"file-date"' in source.head else "iostat"
    for document in documents_with(source, "sysstat", dict, "no hosts"):
        for one in document["sysstat"]["hosts"]:
            host, system = (
                str(one.get("nodename", ""))[:256],
                f"{one.get('sysname', '')} {one.get('release', '')}"[:100],
            )
            timed = _host(one, tool, sampled, left)
            if not timed:
                notes.append("statistics have no time (-t): one second apart from the day in its head")
            if one.get("restarts"):
                notes.append(f"contains {plural(len(one['restarts']), 'restart')} of the machine")
    series = sampled.series({"tool": tool})
    return Imported(
        format=NAME, tool=tool, host=host, system=system.strip(), counters=series, notes=tuple(dict.fromkeys(notes)),
        left_out=tuple(sorted(left)),
    )  # fmt: skip


def _host(one: dict[str, Any], tool: str, sampled: Sampled, left: set[str]) -> bool:
    day = date_of(str(one.get("date") or one.get("file-date") or ""))
    timed = True
    for number, statistics in enumerate(one.get("statistics", [])):
        if tool == "iostat" and number == 0:
            left.add("the first statistics: they are of the time since boot")
            continue
        stamp = statistics.get("timestamp")
        if isinstance(stamp, dict):
            date, time = date_of(str(stamp.get("date"))), time_of(str(stamp.get("time")))
            at = None if date is None or time is None else ns_of(date + time)
            if not stamp.get("utc"):
                left.add("the zone of its times, which it does not say (sadf -j prints UTC unless -t): taken for UTC")
        else:
            moment = moment_of(str(stamp)) if stamp is not None else None
            at = None if moment is None else ns_of(moment)
        if at is None:
            timed = False
            at = (0 if day is None else ns_of(day)) + number * NS_PER_S
        for key, value in statistics.items():
            if key == "avg-cpu" and isinstance(value, dict):
                _add(sampled, tool, "", value, at, left)
            elif key in ("disk", "cpu-load") and isinstance(value, list):
                for row in value:
                    of = next((str(row[name])[:256] for name in _NAMES if name in row), "")
                    _add(sampled, tool, of, row, at, left)
            elif key == "network" and isinstance(value, dict):
                left.add("network: it is not read yet")
            elif key != "timestamp":
                left.add(f"{key[:60]}: it is not read yet")
    return timed


def _add(sampled: Sampled, tool: str, of: str, row: dict[str, Any], at: int, left: set[str]) -> None:
    for column, value in row.items():
        if column in _NAMES:
            continue
        unit = "%" if column in _PROCESSORS else unit_of(column)
        if unit is None:
            left.add(f"{column[:60]}: its unit is not known")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            sampled.add(f"{tool} {column}", unit, of, at, float(value))
