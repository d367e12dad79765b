"""elbencho's results as JSON (``--jsonfile``): one document for each phase, all of its values as strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strata import parsing
from strata.formats.results import _elbencho
from strata.formats.results.source import CELLS_MOST, Misread, Source, place, room
from strata.model.figures import Dimension, Figure
from strata.model.imported import Imported, ImportedCell

NAME, TITLE, ORDER = "elbencho-json", "elbencho's JSON (--jsonfile)", 14

_HEADS = {
    "path_type": "path type", "hosts": "hosts", "threads": "threads", "block_size": "block size",
    "direct_io": "direct IO", "random_offsets": "random", "random_aligned": "random aligned", "io_depth": "IO depth",
}  # fmt: skip


def recognise(head: str) -> bool:
    return '"phase_type"' in head and '"config"' in head


def read(source: Source) -> Imported:
    """One cell for each phase that moved data."""
    text = source.text()
    found, broken = parsing.json_documents(text)
    cells: list[ImportedCell] = []
    notes: list[str] = ["rates and times are whole numbers, cut off"]
    left, commands, version = dict.fromkeys([_elbencho.LEFT_OUT]), set[str](), ""
    line, before = 1, 0
    for at, document in found:
        if not isinstance(document, dict) or "phase_type" not in document:
            continue
        line, before = line + text.count("\n", before, at), at
        cell = _cell(document, line)
        if cell is None:
            left[f"phase {document['phase_type'][:40]}: it counts entries, not I/Os"] = None
            continue
        room(cells, CELLS_MOST, "phases", line)
        if "histogram" in document["last_done"].get("latency", {}).get("IO", {}):
            left["its histograms: a bucket is a fifth of its value wide"] = None
        cells.append(cell)
        version = str(document["config"].get("version", ""))[:40]
        commands.add(str(document["config"].get("command", "")))
    if broken is not None and not cells:
        raise Misread(f"the JSON breaks off or is damaged: {broken[1]}", *place(text, broken[0]))
    if broken is not None:
        notes.append(f"what begins in line {place(text, broken[0])[0]} is damaged and left out: {broken[1]}")
    return Imported(
        format=NAME, tool="elbencho", version=version, cells=tuple(cells), left_out=tuple(left)[:20],
        notes=tuple(notes), command=commands.pop()[:4096] if len(commands) == 1 else "",
    )  # fmt: skip


def _cell(document: Mapping[str, Any], line: int) -> ImportedCell | None:
    done = document["last_done"]
    said = {head: str(document["config"][key]) for key, head in _HEADS.items() if key in document["config"]}
    said |= {
        "label": str(document.get("label", "")), "ISO date": str(document.get("iso_start_date", "")),
        "time ms [last]": str(done.get("elapsed_time_ms", "")), "CPU% [last]": str(done.get("cpu%", "")),
    }  # fmt: skip
    times = done.get("latency", {}).get("IO", {})
    made = {"": _figures(done, times), "rwmix": _figures(done.get("rwmix_read", {}), times.get("rwmix_read", {}))}
    cell = _elbencho.cell_of(document["phase_type"], said, made, line)
    measured = None if cell is None else cell.total or next(iter(cell.sides.values()))
    if cell is None or measured is None or not (rate := measured.base("rate")) or not (moved := measured.base("bytes")):
        return cell
    # Better known than in whole ms.
    return cell.model_copy(update={"seconds": moved / rate})


def _figures(done: Mapping[str, Any], times: Mapping[str, Any]) -> dict[str, Figure | None]:
    counted = _elbencho.cut(done.get("bytes"), "B", Dimension.BYTES)
    return {
        "iops": _elbencho.cut(done.get("iops")),
        "rate": _elbencho.cut(done.get("bytes/s"), "B/s", Dimension.RATE),
        "bytes": None if counted is None else counted.model_copy(update={"step": 0.0}),
        **_elbencho.times_of(times.get("min_us"), times.get("avg_us"), times.get("max_us")),
    }
