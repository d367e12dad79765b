"""Device mapper's own tables (``dmsetup table``, ``dmsetup status``), which no file of the kernel shows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from strata.discover.tools import Tools
from strata.host.block import SECTOR
from strata.host.proc import Sys

_RAID = {"raid0": 0, "raid1": 0, "raid10": 0, "raid4": 1, "raid5": 1, "raid6": 2}


@dataclass(frozen=True)
class TableLine:
    """One line of a table: ``words`` are what stands after its kind."""

    kind: str
    sectors: int
    words: tuple[str, ...]

    def number(self, at: int) -> int | None:
        """The whole number at that place; None where there is none."""
        return int(self.words[at]) if at < len(self.words) and self.words[at].isdigit() else None

    def device(self, at: int, sys: Sys) -> str | None:
        """The name of the device whose number (``8:16``) stands at that place."""
        number = self.words[at] if at < len(self.words) else ""
        found = sys.real(f"/sys/dev/block/{number}") if ":" in number else None
        return found.rpartition("/")[2] if found else None


@dataclass(frozen=True)
class Striped:
    """The geometry that a target states, in bytes; ``parity`` members of all ``members``."""

    level: str
    chunk: int
    members: int
    parity: int = 0
    copies: int = 1


def targets(name: str, what: str, tools: Tools) -> tuple[TableLine, ...]:
    """The lines of ``dmsetup table`` or ``status`` of the device called so."""
    found = []
    for line in (tools.text(f"device mapper's table of {name}", "dmsetup", what, name) or "").splitlines():
        words = line.split()
        if len(words) >= 3 and words[1].isdigit():
            found.append(TableLine(words[2], int(words[1]), tuple(words[3:])))
    return tuple(found)


def striped(target: TableLine) -> Striped | None:
    """Of ``striped`` and ``raid`` targets, and the chunk of a thin pool; None for all others."""
    if target.kind == "striped" and (members := target.number(0)) and (chunk := target.number(1)):
        return Striped("striped", chunk * SECTOR, members)
    if target.kind == "thin-pool" and (chunk := target.number(2)):
        return Striped("thin pool", chunk * SECTOR, 1)
    if target.kind == "raid" and len(target.words) > 2 and (count := target.number(1)) and (chunk := target.number(2)):
        at = 2 + count
        members, level = target.number(at), target.words[0]
        plain = next((known for known in _RAID if level.startswith(known) and known != "raid1"), None)
        plain = plain or ("raid1" if level == "raid1" else None)
        if members and plain:
            copies = _copies(target.words[2:at], plain)
            return Striped(level, chunk * SECTOR, members, _RAID[plain], members if plain == "raid1" else copies)
    return None


def _copies(options: tuple[str, ...], level: str) -> int:
    if level != "raid10":
        return 1
    said = dict(pairwise(options)).get("raid10_copies", "2")
    return int(said) if said.isdigit() else 2
