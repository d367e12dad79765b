"""What elbencho's CSV and JSON have in common: one phase as a cell.

Figures are of the time until the last thread was done; those until the first one was are left out. Rates and times are
whole numbers, cut off. A load is of hosts × threads × depth. In a mixed phase the columns without ``rwmix read`` are
those of the writes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from strata.formats.results._measured import count, printed, whole
from strata.formats.results._sysstat import moment_of, ns_of
from strata.model.figures import Dimension, Figure, Rounding
from strata.model.imported import ImportedCell, Measured

LEFT_OUT = "figures until the first thread was done: those until the last one was are read"
_MIXED = re.compile(r"RWMIX(\d{1,3})|MIX-T\d{1,5}")
_PHASES = {"READ": "read", "WRITE": "write"}


def cut(text: str | None, unit: str = "", dimension: Dimension = Dimension.PLAIN) -> Figure | None:
    """A whole number that was cut off; None for what was not printed."""
    found = printed(text or "", unit, dimension)
    return None if found is None else found.model_copy(update={"rounding": Rounding.DOWN})


def side_of(phase: str) -> str | None:
    """The direction of a phase of one, also of one that looks at entries in passing (``WRITE+s``)."""
    return _PHASES.get(phase.partition("+")[0])


def asked_of(phase: str, said: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a phase. ``said`` by the heads of the CSV."""
    asked: dict[str, Any] = {}
    for key, name in (("block size", "bs"), ("IO depth", "iodepth")):
        if said.get(key):
            asked[name] = count(said[key])
    if said.get("threads"):
        asked["threads"] = count(said["threads"]) * count(said.get("hosts") or "1")
    if said.get("direct IO"):
        asked["direct"] = said["direct IO"] in ("1", "true")
    mixed = _MIXED.match(phase)
    kind = "rw" if mixed else side_of(phase)
    if kind is not None and said.get("random"):
        asked["rw"] = ("rand" if said["random"] in ("1", "true") else "") + kind
        if mixed and mixed[1]:
            asked["rwmixread"] = int(mixed[1])
    return asked


def cell_of(
    phase: str, said: Mapping[str, str], made: Mapping[str, dict[str, Figure | None]], line: int
) -> ImportedCell | None:
    """``made``: figures of the phase's own direction (``""``) and of the reads of a mixed one (``rwmix``).

    None for a phase without I/O.
    """
    own = {key: value for key, value in made[""].items() if value is not None}
    reads = {key: value for key, value in made["rwmix"].items() if value is not None}
    side = "write" if _MIXED.match(phase) else side_of(phase)
    if side is None or not (own or reads):
        return None
    sides = {name: Measured(figures=f) for name, f in ((side, own), ("read", reads)) if f}
    total = whole(sides) if len(sides) > 1 else None
    took = printed(said.get("time ms [last]", ""))
    busy = cut(said.get("CPU% [last]"), "%", Dimension.SHARE)
    began = moment_of(said["ISO date"]) if said.get("ISO date") else None
    words = {name: said[key][:256] for name, key in (("target", "label"), ("paths", "path type")) if said.get(key)}
    # Threads have files of their own, or each a part of one.
    words["ranges"] = "own"
    if said.get("hosts") not in (None, "", "1"):
        words["clients"] = f"{count(said['hosts'])} hosts"
    unaligned = said.get("random aligned") in ("0", "false")
    return ImportedCell(
        name=f"{said.get('label', '')[:200]} {phase[:40]}".strip(), line=line, asked=asked_of(phase, said), words=words,
        seconds=took.value / 1000 if took is not None and took.value else None, sides=sides, total=total,
        cpu={} if busy is None else {"busy": busy},
        incomplete=("its random offsets are not aligned to anything",) if unaligned else (),
        started_unix_ns=None if began is None else ns_of(began),
    )  # fmt: skip


def times_of(least: str | None, mean: str | None, most: str | None) -> dict[str, Figure | None]:
    """Of whole µs; a least time of 0 says less than that, and is kept with its step."""
    named = (("time.min", least), ("time.mean", mean), ("time.max", most))
    return {key: cut(text, "us", Dimension.TIME) for key, text in named}
