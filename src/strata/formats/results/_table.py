"""An imported file as a table, so that it is checked against the same laws as everybody's figures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from strata import units
from strata.errors import UsageError
from strata.model.figures import Dimension, Figure, Row, Table, exact
from strata.model.imported import Imported, ImportedCell, Measured
from strata.model.rw import Rw

PLAIN = "table"
"""The format of a table that no tool printed."""
_APART = ("iops", "rate", "time.mean")
"""What a row of both directions says of each."""


def table_of(found: Imported, name: str) -> Table:
    """One row for each cell, and for a mixed one also one for each direction."""
    rows = [row for cell in found.cells for row in _rows(cell)]
    # Not of a table that somebody wrote: there every figure is one that is claimed.
    words = {} if found.format == PLAIN else {"tool": f"{found.tool} {found.version}".strip()}
    taken: dict[str, int] = {}
    unique = []
    for row in rows:
        taken[row.name] = n = taken.get(row.name, 0) + 1
        unique.append(row if n == 1 else row.model_copy(update={"name": f"{row.name} ({n})"}))
    return Table(name=name, rows=tuple(unique), words=words)


def _rows(cell: ImportedCell) -> Iterator[Row]:
    asked = cell.asked
    words = {"job": cell.name, **cell.words}
    with suppress(ValueError):
        words["pattern"] = Rw.of(str(asked.get("rw", ""))).words
    if "direct" in asked:
        words["caching"] = "off" if asked["direct"] else "on"
    if cell.words.get("engine") == "null":
        words["engine"] = "nothing"
    settings = _settings(asked, words)
    if "sync" in cell.sides:
        # While a job waits for a flush, it keeps no I/O in flight.
        words.setdefault("loop", "held")
    sides = {name: m for name, m in cell.sides.items() if name in ("read", "write")}
    if len(sides) < 2:
        only = next(iter(sides.values()), cell.total)
        if only is not None:
            name = next(iter(sides), "total")
            yield Row(name=cell.name, words=words, figures={**settings, **_held(only, cell, name)})
        return
    both = {f"{key}.{name}": f for name, m in sides.items() for key, f in _held(m, cell, name).items() if key in _APART}
    yield Row(name=cell.name, words=words, figures={**settings, **both})
    for name, m in sides.items():
        own = {**words, "direction": name, "loop": "open"}
        some = {key: value for key, value in settings.items() if key == "size"}
        yield Row(name=f"{cell.name}, {name}", words=own, figures={**some, **_held(m, cell, name)})


def _held(measured: Measured, cell: ImportedCell, side: str) -> dict[str, Figure]:
    """All but what was only put together by and large."""
    return {key: value for key, value in measured.figures.items() if f"{side} {key}" not in cell.approximate}


def _settings(asked: dict[str, Any], words: dict[str, str]) -> dict[str, Figure]:
    found: dict[str, Figure] = {}
    threads = asked.get("threads", 1)
    if "iodepth" in asked:
        found["depth"] = exact(asked["iodepth"])
        found["threads"] = exact(threads)
    if "bs" in asked and "bssplit" not in asked and (size := _bytes(asked["bs"])) is not None:
        found["size"] = exact(size, Dimension.BYTES)
    for key in ("limit_iops", "rate_iops"):
        if asked.get(key):
            words["loop"] = "open"
            if str(asked.get("rw", "")) not in ("rw", "randrw", "readwrite"):
                found["cap"] = exact(float(asked[key]))
    return found


def _bytes(value: Any) -> int | None:
    try:
        return units.parse_size(value)
    except UsageError:
        return None
