"""Rows of the bench's tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

MEDIAN_BAR, P95_BAR, P95_FIFTH_BAR, COVERAGE_BAR, TIME_BAR = 0.01, 0.04, 0.02, 0.90, 1.5


@dataclass(frozen=True)
class Row:
    """Relative errors of one plan at one endpoint; None is not known or not asked. ``bar`` names the one it is held
    against: twentieth, fifth, coverage, time (coverage, and ``time_factor`` within `TIME_BAR`), or nothing. ``each``:
    what was found cell by cell, for the JSON."""

    name: str
    plan: str
    cells: int
    seconds: float
    median: float
    p95: float
    coverage: float | None = None
    smoothed: float | None = None
    predicted_p95: float | None = None
    time_factor: float | None = None
    reference_half: float | None = None
    bar: str = ""
    each: tuple[dict[str, object], ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the row is on the right side of its bar."""
        if self.bar == "twentieth":
            good = self.median <= MEDIAN_BAR and self.p95 <= P95_BAR
        elif self.bar == "fifth":
            good = self.p95 <= P95_FIFTH_BAR
        elif self.bar == "time":
            good = self.time_factor is not None and 1 / TIME_BAR <= self.time_factor <= TIME_BAR
        else:
            good = True
        covered = self.coverage is None or self.bar == "" or self.coverage >= COVERAGE_BAR
        return good and covered

    def as_json(self) -> dict[str, object]:
        """With all digits."""
        return asdict(self) | {"holds": self.holds}


def row_of(name: str, plan: str, seconds: float, errors: Sequence[float], **more: object) -> Row:
    """From signed errors in logarithms."""
    away = np.abs(np.expm1(np.array([e for e in errors if math.isfinite(e)])))
    return Row(
        name=name, plan=plan, cells=int(away.size), seconds=seconds, median=float(np.median(away)),
        p95=float(np.quantile(away, 0.95)), **more,  # type: ignore[arg-type]
    )  # fmt: skip


def table(rows: Sequence[Row]) -> str:
    """Markdown."""
    head = ["endpoint", "plan", "cells", "time", "median error", "p95 error", "interval covers", "smoothed",
            "predicted p95", "time / predicted", "reference ±", ""]  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for r in rows:
        factor = "" if r.time_factor is None else f"{r.time_factor:.2f}"
        shares = [r.median, r.p95, r.coverage, r.smoothed, r.predicted_p95]
        cells = [r.name, r.plan, str(r.cells), f"{r.seconds:.0f} s", *map(_percent, shares), factor]
        cells += [_percent(r.reference_half), "" if r.holds else "**missed**"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2f} %"
