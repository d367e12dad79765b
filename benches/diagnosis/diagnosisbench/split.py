"""What is kept from tuning: read from ``split.toml``, asked of a trial's severities, seed and stack.

A case that is looked at is kept no longer: ``looked.txt`` names those, and nothing takes a name out again.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "split.toml"
LOOKED = FILE.with_name("looked.txt")


class Why(StrEnum):
    """By what a trial is kept apart."""

    SEVERITY = "severity"
    SEED = "seed"
    STACK = "stack"


@dataclass(frozen=True)
class Split:
    """``low`` to ``high`` is what positions are drawn from; ``ranges`` of it are kept, each with its lower end."""

    low: float
    high: float
    ranges: tuple[tuple[float, float], ...]
    every: int
    stacks: tuple[tuple[str, str, str], ...]
    looked: frozenset[str] = frozenset()
    """Names of trials that were looked at."""
    newest: int = 0
    """The row from which on frozen ones are the newest."""

    def kept(self, positions: Sequence[float], seed: int, stack: str, options: Mapping[str, str]) -> frozenset[Why]:
        """Why a trial is kept from tuning by its nature; empty: it is there to learn from."""
        found = set()
        if any(low <= p < high for p in positions for low, high in self.ranges):
            found.add(Why.SEVERITY)
        if seed % self.every == 0:
            found.add(Why.SEED)
        if any(stack == name and options.get(option) == value for name, option, value in self.stacks):
            found.add(Why.STACK)
        return frozenset(found)


def read(path: Path = FILE, looked: Path = LOOKED) -> Split:
    """The split that is in force."""
    names = (line.partition("#")[0].strip() for line in looked.read_text().splitlines())
    told = tomllib.loads(path.read_text())
    low, high = told["severities"]["range"]
    return Split(
        low,
        high,
        tuple((a, b) for a, b in told["severities"]["kept"]),
        told["seeds"]["kept_every"],
        tuple((s["stack"], s["option"], s["value"]) for s in told["stacks"]),
        frozenset(filter(None, names)),
        told.get("newest", {}).get("from_row", 0),
    )


def look(name: str, looked: Path = LOOKED) -> None:
    """From now on the trial of that name is there to learn from."""
    with looked.open("a") as file:
        file.write(f"{name}\n")
