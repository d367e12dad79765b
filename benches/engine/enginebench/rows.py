"""A line of the table: what was measured, what it must reach, whether it does."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .estimate import Estimate

MET, NOT_MET, OPEN, ABSENT = "met", "not met", "not decided", "no number"


@dataclass(frozen=True)
class Row:
    """One measure. `limit` with `sense` (`<=` or `>=`) is the must-value; `why_not` says why there is no number.

    `within`: asked within intervals, so that what cannot be told from the limit holds.
    """

    measure: str
    against: str
    unit: str
    sense: str
    limit: float
    estimate: Estimate | None = None
    note: str = ""
    why_not: str = ""
    within: bool = False

    @property
    def verdict(self) -> str:
        """Met or not when the whole interval is on one side of the limit; else not decided (or met, see `within`)."""
        e = self.estimate
        if e is None:
            return ABSENT
        if e.low is None or e.high is None:
            return OPEN
        inside = [_holds(x, self.sense, self.limit) for x in (e.low, e.high)]
        if all(inside) or (self.within and any(inside)):
            return MET
        return OPEN if any(inside) else NOT_MET

    def as_json(self) -> dict[str, Any]:
        """The row with its verdict."""
        return {**asdict(self), "verdict": self.verdict}


def _holds(value: float, sense: str, limit: float) -> bool:
    return value <= limit if sense == "<=" else value >= limit


def table(rows: list[Row]) -> str:
    """Markdown."""
    lines = ["| measure | against | value | interval | must | verdict | note |", "|---|---|---|---|---|---|---|"]
    for r in rows:
        e = r.estimate
        value = f"{_figure(e.value)} {r.unit}".strip() if e else "–"
        span = "–" if e is None or e.low is None or e.high is None else f"{_figure(e.low)} … {_figure(e.high)}"
        must = f"{'≤' if r.sense == '<=' else '≥'} {_figure(r.limit)}{' ±' if r.within else ''}"
        lines.append(f"| {r.measure} | {r.against} | {value} | {span} | {must} | {r.verdict} | {r.note or r.why_not} |")
    return "\n".join(lines)


def _figure(x: float) -> str:
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.4g}"
