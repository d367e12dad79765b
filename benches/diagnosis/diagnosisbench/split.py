"""What is kept from tuning: read from ``split.toml``, asked of a trial's severities, seed and stack."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "split.toml"


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

    def kept(self, positions: Sequence[float], seed: int, stack: str, options: Mapping[str, str]) -> frozenset[Why]:
        """Why a trial is kept from tuning; empty: it is there to learn from."""
        found = set()
        if any(low <= p < high for p in positions for low, high in self.ranges):
            found.add(Why.SEVERITY)
        if seed % self.every == 0:
            found.add(Why.SEED)
        if any(stack == name and options.get(option) == value for name, option, value in self.stacks):
            found.add(Why.STACK)
        return frozenset(found)


def read(path: Path = FILE) -> Split:
    """The split that is in force."""
    told = tomllib.loads(path.read_text())
    low, high = told["severities"]["range"]
    return Split(
        low,
        high,
        tuple((a, b) for a, b in told["severities"]["kept"]),
        told["seeds"]["kept_every"],
        tuple((s["stack"], s["option"], s["value"]) for s in told["stacks"]),
    )
