"""A line of the table, and the bars it is held against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scipy.special import betaincinv

COVERAGE_MIN = 0.90
DIFFERENT_MAX = 0.05


@dataclass(frozen=True)
class Row:
    """Shares 0..1. ``coverage`` of the truth by the stated 95 % interval, ``different``: A/A pairs called different.

    ``seconds`` is the median length; ``precise``: ended because precise; ``steady``: said steady; ``given``:
    percentiles that were printed at all, of those that could be; ``times``: measurements, two a pair.
    """

    name: str
    coverage: float | None
    different: float
    seconds: float | None = None
    precise: float | None = None
    steady: float | None = None
    given: float | None = None
    times: int = 0

    @property
    def coverage_range(self) -> tuple[float, float] | None:
        """95 % interval of the share that many measurements show, each taken for itself."""
        return None if self.coverage is None else binomial(self.coverage, self.times)

    @property
    def different_range(self) -> tuple[float, float]:
        """The same of the pairs."""
        return binomial(self.different, self.times // 2)

    @property
    def holds(self) -> bool:
        """Whether both bars are met, chance of so few repeats allowed for (two standard errors)."""
        slack = 2 / math.sqrt(max(1, self.times))
        covered = self.coverage is None or self.coverage >= COVERAGE_MIN - slack * 0.3
        return covered and self.different <= DIFFERENT_MAX + slack * 0.22 * math.sqrt(2)

    def as_json(self) -> dict[str, Any]:
        """Every field and the verdict."""
        ranges = {"coverage_range": self.coverage_range, "different_range": self.different_range}
        return asdict(self) | ranges | {"holds": self.holds}


def binomial(share: float, n: int) -> tuple[float, float]:
    """95 % interval of a share of ``n`` (Clopper and Pearson 1934): never too narrow, however few."""
    hits = round(share * n)
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, 0.025))
    return low, 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 0.975))


def table(rows: Sequence[Row]) -> str:
    """Markdown."""
    names = ["series", "95 % interval holds the truth", "A/A called different", "length"]
    names += ["ended by precision", "steady", "printed", ""]
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for row in rows:
        cells = [
            _share(row.coverage, row.coverage_range),
            _share(row.different, row.different_range),
            "" if row.seconds is None else f"{row.seconds:.1f} s",
        ]
        cells += [_share(row.precise), _share(row.steady), _share(row.given), "" if row.holds else "**missed**"]
        lines.append(f"| {row.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _share(value: float | None, interval: tuple[float, float] | None = None) -> str:
    if value is None or interval is None:
        return "" if value is None else f"{value * 100:.1f} %"
    return f"{value * 100:.1f} % ({interval[0] * 100:.1f} to {interval[1] * 100:.1f})"
