"""IOR's text, of all versions with a table of results (3.0 to 4.x).

Columns are read by their heads: latency and IOPS are there since 3.3, and are not taken over. A dash is what was not
measured. The summary at the end is of the repetitions that stand above it, and is left out.
"""

from __future__ import annotations

import re

from strata.formats.results import _ior
from strata.formats.results._measured import printed
from strata.formats.results.source import CELLS_MOST, Misread, Source, begins, room, row_of
from strata.model.figures import Dimension
from strata.model.imported import Imported, ImportedCell

NAME, TITLE, ORDER = "ior-text", "IOR's text", 32

_FIRST = re.compile(r"^IOR-(\S{1,40}): MPI Coordinated Test of Parallel I/O")
_OPTION = re.compile(r"^\s{0,16}([A-Za-z][\w /-]{0,40}?) *[:=] ?(.*)$")


def recognise(head: str) -> bool:
    return begins(head, _FIRST.pattern)


def read(source: Source) -> Imported:
    """One cell for each access of each repetition."""
    cells: list[ImportedCell] = []
    options: dict[str, str] = {}
    version = command = machine = began = ""
    columns: list[str] = []
    test: _ior.IorTest | None = None
    for n, line in enumerate(source.lines(), 1):
        said = line.strip()
        if (first := _FIRST.match(said)) is not None:
            version, options, columns, test = first[1], {}, [], None
        elif said.startswith("access ") and "bw(MiB/s)" in said:
            columns = said.split()
            test = _ior.test_of(options, command, options.get("StartTime") or began)
        elif test is not None and columns and said.startswith(("write ", "read ")) and said.split()[-1].isdecimal():
            room(cells, CELLS_MOST, "results", n)
            cells.append(_cell(test, columns, said.split(), n))
        elif said.startswith("Summary of all tests"):
            columns = []
        elif (option := _OPTION.match(line)) is not None:
            key, value = option[1].strip(), option[2].strip()
            command = value if key.lower() == "command line" else command
            machine = value if key == "Machine" else machine
            began = value if key == "Began" else began
            if key == "TestID":
                options = {}
            options[key] = value
            if len(options) > 1000:
                raise Misread("it states more than 1000 options", n)
    host, system = _ior.host_of(machine)
    return Imported(
        format=NAME, tool="IOR", version=version, host=host, system=system, command=command[:4096], cells=tuple(cells),
        notes=_ior.NOTES, left_out=_ior.LEFT_OUT,
    )  # fmt: skip


def _cell(test: _ior.IorTest, columns: list[str], fields: list[str], n: int) -> ImportedCell:
    row = row_of(columns, fields, n)
    rate = printed(row["bw(MiB/s)"], "MiB/s", Dimension.RATE)
    if rate is None:
        raise Misread(f"bw(MiB/s) is {row['bw(MiB/s)'][:40]!r}, which is not a number", n)
    total = printed(row.get("total(s)", ""))
    return _ior.cell_of(test, fields[0], rate, None if total is None else total.value, n)
