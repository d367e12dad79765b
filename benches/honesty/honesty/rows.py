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
    percentiles that were printed at all, of those that could be; ``noisy``: coverage of the one cell that is noisier
    than the others, once a pair; ``found``: true changes that were found; ``times``: measurements, two a pair.
    """

    name: str
    coverage: float | None
    different: float
    seconds: float | None = None
    precise: float | None = None
    steady: float | None = None
    given: float | None = None
    noisy: float | None = None
    found: float | None = None
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
        """Whether the bars are met, chance of so few repeats allowed for (two standard errors)."""
        slack = 2 / math.sqrt(max(1, self.times))
        covered = self.coverage is None or self.coverage >= COVERAGE_MIN - slack * 0.3
        covered &= self.noisy is None or self.noisy >= COVERAGE_MIN - slack * 0.3 * math.sqrt(2)
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
    """Markdown; columns that no row fills are left out."""
    columns = {
        "series": [r.name for r in rows],
        "95 % interval holds the truth": [_share(r.coverage, r.coverage_range) for r in rows],
        "that of the noisy cell": [_share(r.noisy) for r in rows],
        "A/A called different": [_share(r.different, r.different_range) for r in rows],
        "length": ["" if r.seconds is None else f"{r.seconds:.1f} s" for r in rows],
        "ended by precision": [_share(r.precise) for r in rows],
        "steady": [_share(r.steady) for r in rows],
        "printed": [_share(r.given) for r in rows],
        "change of 10 % found": [_share(r.found) for r in rows],
    }
    kept = {name: cells for name, cells in columns.items() if any(cells)}
    kept[""] = ["" if r.holds else "**missed**" for r in rows]
    lines = [f"| {' | '.join(kept)} |", "|---" * len(kept) + "|"]
    return "\n".join(lines + [f"| {' | '.join(line)} |" for line in zip(*kept.values(), strict=True)])


def _share(value: float | None, interval: tuple[float, float] | None = None) -> str:
    if value is None or interval is None:
        return "" if value is None else f"{value * 100:.1f} %"
    return f"{value * 100:.1f} % ({interval[0] * 100:.1f} to {interval[1] * 100:.1f})"
