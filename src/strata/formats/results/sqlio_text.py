"""SQLIO's text.

``MBs/sec`` are 2^20 bytes a second; latencies are whole milliseconds, cut off, and its histogram is of rounded shares.
I/Os are not counted: IOPS over the seconds it was asked for. Unbuffered is what it prints of the file's cache.
"""

from __future__ import annotations

import re
from typing import Any

from strata import units
from strata.formats.results._measured import cut, printed
from strata.formats.results.source import Misread, Source, begins, room
from strata.model.figures import Dimension
from strata.model.imported import Imported, ImportedCell, Measured

NAME, TITLE, ORDER = "sqlio-text", "SQLIO's text", 40

_BEGINS = re.compile(r"^(\d{1,4}) threads? (reading|writing) for (\d{1,6}) secs (?:from|to) (?:file|files) (.*)$")
_BLOCK = re.compile(r"^using (\d{1,6})KB (random|sequential) IOs")
_DEPTH = re.compile(r"^enabling multiple I/Os per thread with (\d{1,5}) outstanding")
_LATENCY = re.compile(r"^(Min|Avg|Max)_Latency\(ms\):\s*(\S+)$")
_NUMBERS = {"IOs/sec": ("iops", "", Dimension.PLAIN), "MBs/sec": ("rate", "MiB/s", Dimension.RATE)}
CELLS_MOST = 10_000


def recognise(head: str) -> bool:
    return begins(head, r"^sqlio v\d") or (begins(head, r"^CUMULATIVE DATA:") and begins(head, r"^IOs/sec:"))


def read(source: Source) -> Imported:
    """One cell for each test in it."""
    cells: list[ImportedCell] = []
    version = ""
    now: dict[str, Any] | None = None
    for n, line in enumerate(source.text().split("\n"), 1):
        said = line.strip()
        if (found := re.match(r"sqlio v(\S{1,40})", said)) is not None:
            version = found[1]
        elif (found := _BEGINS.match(said)) is not None:
            room(cells, CELLS_MOST, "tests", n)
            cells += _cell(now)
            now = {"line": n, "threads": int(found[1]), "writes": found[2] == "writing", "seconds": float(found[3]),
                   "target": found[4].strip()[:256], "figures": {}}  # fmt: skip
        elif now is None:
            if said.startswith(("IOs/sec:", "MBs/sec:")):
                now = {"line": n, "figures": {}}
                _figure(now, said, n)
        else:
            _line(now, said, n)
    cells += _cell(now)
    left = ("its histogram: shares of whole milliseconds, rounded to whole per cent",)
    return Imported(
        format=NAME, tool="sqlio", version=version, cells=tuple(cells), left_out=left,
        notes=("MBs/sec are 2^20 bytes a second", "I/Os are IOPS × seconds: it does not count them"),
    )  # fmt: skip


def _line(now: dict[str, Any], said: str, n: int) -> None:
    if (found := _BLOCK.match(said)) is not None:
        now["bs"], now["random"] = int(found[1]) * units.KIB, found[2] == "random"
    elif (found := _DEPTH.match(said)) is not None:
        now["iodepth"] = int(found[1])
    elif said.startswith("buffering set to"):
        now["direct"] = "not file" in said or "not use file" in said
        now["through"] = "nor disk" in said or "not hardware disk" in said or "not disk" in said
    elif (found := re.match(r"(?:using (?:specified|current) )?size: (\d{1,12}) (?:MB|\(MB\))", said)) is not None:
        now["size"] = int(found[1]) * units.MIB
    elif (latency := _LATENCY.match(said)) is not None:
        if not latency[2].isdecimal() or len(latency[2]) > 12:
            raise Misread(f"{latency[2][:40]!r} is not a latency", n)
        word = {"Min": "min", "Avg": "mean", "Max": "max"}[latency[1]]
        now["figures"][f"time.{word}"] = cut(float(latency[2]), "ms", Dimension.TIME)
    else:
        _figure(now, said, n)


def _figure(now: dict[str, Any], said: str, n: int) -> None:
    name, colon, text = said.partition(":")
    if not colon or name not in _NUMBERS:
        return
    key, unit, dimension = _NUMBERS[name]
    found = printed(text, unit, dimension)
    if found is None:
        raise Misread(f"{name} is {text.strip()[:40]!r}, which is not a number", n)
    now["figures"][key] = found


def _cell(now: dict[str, Any] | None) -> list[ImportedCell]:
    """None where it was not finished."""
    if now is None or not now["figures"]:
        return []
    asked: dict[str, Any] = {"threads": now["threads"]} if "threads" in now else {}
    if "random" in now and "writes" in now:
        asked["rw"] = ("rand" if now["random"] else "") + ("write" if now["writes"] else "read")
    # Without the line one I/O is in flight.
    asked |= {"bs": now["bs"], "iodepth": now.get("iodepth", 1)} if "bs" in now else {}
    if "direct" in now:
        asked["direct"] = now["direct"]
        if now["through"] and now.get("writes"):
            asked["sync"] = "dsync"
    side = "write" if now.get("writes") else "read"
    measured = Measured(figures=now["figures"])
    known = "writes" in now
    return [
        ImportedCell(
            name=f"{now.get('target') or 'a test'}", line=now["line"], asked=asked, seconds=now.get("seconds"),
            words={"target": now["target"]} if now.get("target") else {}, sides={side: measured} if known else {},
            total=None if known else measured,
        )
    ]  # fmt: skip
