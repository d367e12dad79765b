"""Darshan's logs as ``darshan-parser`` prints them: what a program did to each file, by POSIX calls.

A line is module, rank, record, counter, value, file, mount and file system. A rank of -1 is all ranks together. A value
of -1 is one that was not counted. Times are those of the calls, summed over the ranks; how long the calls went on is
not said, and so there is no rate. Other modules (MPI-IO, STDIO, HDF5) count the same I/Os at another place.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

from strata.formats.results._measured import printed
from strata.formats.results.source import Misread, Source, begins, room
from strata.model.figures import Dimension, Figure, exact
from strata.model.imported import Imported, ImportedCell, Measured
from strata.units import NS_PER_S

NAME, TITLE, ORDER = "darshan-text", "Darshan's logs (darshan-parser's text)", 48

_HEAD = re.compile(r"^# (exe|start_time|nprocs|run time|darshan log version): (.*)$")
_MODULE = "POSIX"
_SIDES = {"read": ("READS", "BYTES_READ", "READ_TIME"), "write": ("WRITES", "BYTES_WRITTEN", "WRITE_TIME")}
RECORDS_MOST = 20_000
COUNTERS_MOST = 500


@dataclass
class _Record:
    """``values`` by counter, without the module's name."""

    line: int
    rank: str
    path: str
    system: str
    values: dict[str, str] = field(default_factory=dict)


def recognise(head: str) -> bool:
    return begins(head, r"^# darshan log version: \d")


def read(source: Source) -> Imported:
    """One cell for each file that POSIX calls read or wrote."""
    said: dict[str, str] = {}
    records: dict[tuple[str, str], _Record] = {}
    others: dict[str, None] = {}
    for n, line in enumerate(source.lines(), 1):
        if (head := _HEAD.match(line)) is not None:
            said.setdefault(head[1], head[2].strip())
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 8:
            raise Misread(f"{len(fields)} values for 8 columns: module, rank, record, counter, value, …", n)
        module, rank, record, counter, value, path, _, system = fields
        if module != _MODULE:
            others[module[:40]] = None
            continue
        one = records.get((rank, record))
        if one is None:
            room(records, RECORDS_MOST, "files", n)
            one = records[rank, record] = _Record(n, rank, path, system)
        room(one.values, COUNTERS_MOST, "counters of a file", n)
        one.values[counter.removeprefix(f"{_MODULE}_")] = value
    start = said.get("start_time", "")
    began = int(start) * NS_PER_S if start.isdecimal() and len(start) < 11 else None
    cells = [cell for one in records.values() if (cell := _cell(one, began)) is not None]
    left = [f"{', '.join(sorted(others)[:10])}: other modules count the same I/Os elsewhere"] if others else []
    left += ["files that were neither read nor written"] * (len(cells) < len(records))
    return Imported(
        format=NAME, tool="Darshan", version=said.get("darshan log version", "")[:40], cells=tuple(cells),
        command=said.get("exe", "")[:4096], left_out=tuple(left), started_unix_ns=began,
        notes=(
            "times are those of the calls; their total duration is not recorded, so there are no rates",
            "where fsync was called writes have no mean: its time is in theirs",
        ),
    )  # fmt: skip


def _cell(one: _Record, began: int | None) -> ImportedCell | None:
    sides: dict[str, Measured] = {}
    for side, (count, moved, took) in _SIDES.items():
        ios = _value(one, count)
        if not ios:
            continue
        figures: dict[str, Figure] = {"ios": exact(ios)}
        if (size := _value(one, moved)) is not None:
            figures["bytes"] = exact(size, Dimension.BYTES)
        spent = printed(one.values.get(f"F_{took}", ""), "s", Dimension.TIME)
        # Times of writes have those of fsync in them.
        synced = side == "write" and (_value(one, "FSYNCS") or _value(one, "FDSYNCS"))
        if spent is not None and spent.value > 0 and not synced:
            low, high = (max(0.0, bound) / ios for bound in spent.bounds())
            figures["time.mean"] = exact(spent.base / ios, Dimension.TIME, low=low, high=high)
        most = printed(one.values.get(f"F_MAX_{took}", ""), "s", Dimension.TIME)
        if most is not None and most.value > 0:
            figures["time.max"] = most
        sides[side] = Measured(figures=figures)
    if not sides:
        return None
    words = {"target": one.path[:256], "engine": "POSIX", "system": one.system[:40]}
    words["ranks"] = "all ranks" if one.rank == "-1" else f"rank {one.rank[:20]}"
    return ImportedCell(
        name=one.path[:256], line=one.line, asked=_asked(one, sides), words=words, sides=sides, started_unix_ns=began
    )


def _asked(one: _Record, sides: dict[str, Measured]) -> dict[str, Any]:
    """The size of an I/O, where all had the same."""
    size, count = _value(one, "ACCESS1_ACCESS"), _value(one, "ACCESS1_COUNT")
    whole = math.fsum(m.base("ios") or 0.0 for m in sides.values())
    return {"bs": size, "iodepth": 1} if size and count == whole else {}


def _value(one: _Record, counter: str) -> int | None:
    """A count; None where there is none."""
    text = one.values.get(counter, "")
    return int(text) if text.isdecimal() and len(text) < 20 else None
