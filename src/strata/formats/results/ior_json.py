"""IOR's JSON (``-O summaryFormat=JSON``). Its numbers have four places, so that a time of 50 µs is 0."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from strata.formats.results import _ior
from strata.formats.results._measured import number
from strata.formats.results.source import CELLS_MOST, Misread, Source, documents_with, room
from strata.model.figures import Dimension, Figure, Rounding
from strata.model.imported import Imported, ImportedCell

NAME, TITLE, ORDER = "ior-json", "IOR's JSON (-O summaryFormat=JSON)", 12

_ACCESS = re.compile(r'"access"\s*:\s*"(?:write|read)"')


def recognise(head: str) -> bool:
    return '"Command line"' in head and '"tests"' in head and '"Results"' in head


def read(source: Source) -> Imported:
    """One cell for each access of each repetition."""
    documents, text = documents_with(source, "tests", list, "it has no tests"), source.text()
    lines = [text.count("\n", 0, at.start()) + 1 for at, _ in zip(_ACCESS.finditer(text), range(1000), strict=False)]
    cells: list[ImportedCell] = []
    for document in documents:
        for one in document["tests"]:
            options = {str(k): str(v) for k, v in one["Options"].items()}
            test = _ior.test_of(options, str(document.get("Command line", "")), str(one.get("StartTime", "")))
            for result in one["Results"]:
                if result["access"] not in ("write", "read"):
                    continue
                room(cells, CELLS_MOST, "results")
                cells.append(_cell(test, result, lines[len(cells)] if len(cells) < len(lines) else 1))
    last = documents[-1]
    host, system = _ior.host_of(str(last.get("Machine", "")))
    return Imported(
        format=NAME, tool="IOR", version=str(last.get("Version", ""))[:40], host=host, system=system,
        command=str(last.get("Command line", ""))[:4096], cells=tuple(cells), notes=_ior.NOTES,
        left_out=_ior.LEFT_OUT,
    )  # fmt: skip


def _cell(test: _ior.IorTest, result: Mapping[str, Any], line: int) -> ImportedCell:
    rate = _four(result, "bwMiB", "MiB/s", Dimension.RATE)
    if rate is None:
        raise Misread("a result has no bwMiB", line)
    return _ior.cell_of(test, result["access"], rate, number(result, "totalTime"), line)


def _four(result: Mapping[str, Any], key: str, unit: str, dimension: Dimension) -> Figure | None:
    value = number(result, key)
    if value is None or value < 0:
        return None
    return Figure(dimension=dimension, value=value, unit=unit, step=1e-4, rounding=Rounding.NEAREST)
