"""vdbench's reports of block devices: what it prints, summary.html, totals.html, and those of a host, an sd or a wd.

The heads stand in two lines, and say the day. What was asked for stands before them, as far as loops changed it.
Reports of file systems have other columns: their flat file is read.
"""

from __future__ import annotations

import re

from strata.formats.results import _vdbench
from strata.formats.results._measured import unix_ns
from strata.formats.results.source import CELLS_MOST, Source, begins, room, row_of
from strata.model.imported import Imported, ImportedCell

NAME, TITLE, ORDER = "vdbench-text", "vdbench's summary.html, totals.html and what it prints", 44

_START = re.compile(
    r"(\d\d:\d\d:\d\d)\.\d{3} Starting RD=([^;\s]{1,100}); I/O rate: ([^;]{1,60});[^;]{0,200};? ?(.{0,500})"
)
_HEAD = re.compile(r"^(\w{3} \d\d, \d{4})\s+interval\s+i/o\s+MB/sec\s+bytes\s")
_ROW = re.compile(r"^(\d\d:\d\d:\d\d\.\d{3})\s+((?:avg_|std_|max_)?[\d-]+)\s+(.*)$")
_VERSION = re.compile(r"Vdbench distribution: vdbench(\d{1,8})")
_TAG = re.compile(r"<[^<>]{0,500}>")
_NAMES = {
    "i/o rate": "rate", "MB/sec 1024**2": "mb/sec", "bytes i/o": "bytes/io", "read pct": "read%", "resp time": "resp",
    "resp resp": "resp_resp", "read resp": "read_resp", "write resp": "write_resp", "resp max": "resp_max",
    "read max": "read_max", "write max": "write_max", "cpu% sys+u": "cpu_used", "cpu% sys": "cpu_kernel",
}  # fmt: skip
_LOOP = re.compile(r"\b(threads|xfersize|rdpct|seekpct|rhpct|whpct)=([\w.]{1,20})")


def recognise(head: str) -> bool:
    return begins(head, _HEAD.pattern)


def read(source: Source) -> Imported:
    """One cell for each run that has an average."""
    cells: list[ImportedCell] = []
    columns: list[str] = []
    first: list[str] | None = None
    run: _vdbench.VdbenchRun | None = None
    named, asked, rate, version, began = "", {}, "", "", ""
    for n, line in enumerate(source.lines(), 1):
        said = _TAG.sub("", line).strip() if "<" in line else line.strip()
        if first is not None:
            # The second line of the heads.
            second = said.split()
            columns = [_NAMES.get(f"{a} {b}", f"{a} {b}") for a, b in zip(first, second, strict=False)]
            first = None
        elif (start := _START.match(said)) is not None:
            began, named, rate, run = start[1], start[2], start[3], None
            asked = dict(_LOOP.findall(start[4]))
        elif (head := _HEAD.match(said)) is not None:
            first = said.split("interval", 1)[1].split()
            run = _vdbench.VdbenchRun(_name(named, asked), *_vdbench.asked_of({**asked, "reqrate": rate}))
            run.began_unix_ns = unix_ns(f"{head[1]} {began}", "%b %d, %Y %H:%M:%S")
        elif (row := _ROW.match(said)) is not None and run is not None and columns:
            cell = _vdbench.add(run, row[2], row[1], row_of(columns, row[3].split(), n), None, n)
            if cell is not None:
                room(cells, CELLS_MOST, "runs", n)
                cells.append(cell)
        elif (found := _VERSION.search(said)) is not None:
            version = found[1]
    return Imported(
        format=NAME, tool="vdbench", version=version, cells=tuple(cells),
        notes=(*_vdbench.NOTES, "its times have no zone: taken for UTC"),
    )  # fmt: skip


def _name(run: str, loops: dict[str, str]) -> str:
    return " ".join([run, *(f"{key}={value}" for key, value in loops.items())])
