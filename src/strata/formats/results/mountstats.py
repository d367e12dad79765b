"""NFS mounts in the kernel's own words: /proc/self/mountstats, as ``mountstats --file`` keeps it.

An operation has count, transmissions, timeouts, bytes sent and received, then ms in the queue, on the wire and in all;
since version 1.1 errors too. All of it is since the mount, or since the first of several snapshots in the file; ``age``
says how long that is. One READ or WRITE is one request of the client, not one of an application.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from strata import units
from strata.formats.results.source import Misread, Source, begins
from strata.model.figures import Dimension, Figure, exact
from strata.model.imported import Imported, ImportedCell, Measured

NAME, TITLE, ORDER = "mountstats", "NFS mounts in /proc/self/mountstats", 114

_DEVICE = re.compile(r"^device (.{1,4096}) mounted on (\S{1,4096}) with fstype nfs4? statvers=([\d.]{1,8})")
_OPERATION = re.compile(r"^\s+(READ|WRITE): ((?:\d{1,20} ){7,8}\d{1,20})\s*$")
_AGE = re.compile(r"^\s+age:\s+(\d{1,12})$")
_SIDES = {"READ": ("read", 4), "WRITE": ("write", 3)}
"""The direction of an operation, and the place of its bytes."""
MOUNTS_MOST = 10_000


@dataclass
class _Snapshot:
    """``operations``: the numbers of READ and WRITE."""

    line: int
    server: str
    age_s: int = 0
    operations: dict[str, list[int]] = field(default_factory=dict)


def recognise(head: str) -> bool:
    return begins(head, _DEVICE.pattern)


def read(source: Source) -> Imported:
    """One cell for each mount that read or wrote."""
    mounts: dict[str, list[_Snapshot]] = {}
    now: _Snapshot | None = None
    count = 0
    for n, line in enumerate(source.lines(), 1):
        if line.startswith("device "):
            found = _DEVICE.match(line)
            now = None if found is None else _Snapshot(n, found[1])
            if found is not None and now is not None:
                count += 1
                if count > MOUNTS_MOST:
                    raise Misread(f"more than {MOUNTS_MOST} mounts", n)
                mounts.setdefault(found[2], []).append(now)
        elif now is not None and (age := _AGE.match(line)) is not None:
            now.age_s = int(age[1])
        elif now is not None and (operation := _OPERATION.match(line)) is not None:
            now.operations[operation[1]] = list(map(int, operation[2].split()))
    cells = [cell for path, snapshots in mounts.items() if (cell := _cell(path, snapshots)) is not None]
    several = any(len(snapshots) > 1 for snapshots in mounts.values())
    since = "the first snapshot in the file" if several else "the mount"
    return Imported(
        format=NAME, tool="mountstats", cells=tuple(cells),
        notes=(f"figures are of all the time since {since}", "times are from the client's queue to the reply, in ms"),
        left_out=("other operations than READ and WRITE: they move no data",),
    )  # fmt: skip


def _cell(path: str, snapshots: list[_Snapshot]) -> ImportedCell | None:
    first, last = snapshots[0], snapshots[-1]
    whole = first is last
    seconds = last.age_s if whole else last.age_s - first.age_s
    if not whole and seconds < 0:
        raise Misread(f"{path[:200]} was remounted between its snapshots", last.line)
    sides: dict[str, Measured] = {}
    for name, (side, place) in _SIDES.items():
        numbers = last.operations.get(name, [])
        before = [0] * len(numbers) if whole else first.operations.get(name, [0] * len(numbers))
        grown = [now - then for now, then in zip(numbers, before, strict=False)]
        if any(n < 0 for n in grown):
            raise Misread(f"{name} of {path[:200]} goes back between its snapshots", last.line)
        if not grown or not grown[0]:
            continue
        figures: dict[str, Figure] = {"ios": exact(grown[0]), "bytes": exact(grown[place], Dimension.BYTES)}
        if seconds:
            figures["iops"] = exact(grown[0] / seconds)
        # Each end of a span is in whole ms.
        low, high = (max(0, grown[7] + step) * units.NS_PER_S / 1000 / grown[0] for step in (-1, 1))
        figures["time.mean"] = exact((low + high) / 2, Dimension.TIME, low=low, high=high)
        sides[side] = Measured(figures=figures, errors=grown[8] if len(grown) > 8 else None)
    if not sides:
        return None
    return ImportedCell(
        name=path[:256], line=last.line, words={"target": path[:256], "server": last.server[:256]},
        seconds=float(seconds) or None, sides=sides,
    )  # fmt: skip
