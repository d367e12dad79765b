"""Where the time passes: at least so much of it in the I/Os beyond a percentile.

I/Os below a percentile take at most its time, those beyond at least its time: both bound the share beyond it from below
(Markov's inequality).
"""

from __future__ import annotations

from collections.abc import Sequence

from strata.analyse.laws.base import percentiles, value
from strata.model.figures import Figure, Role, Row, Table

Points = Sequence[tuple[float, Figure]]
"""(percentile 0..100, its time), in rising order."""


def shares(mean: Figure, points: Points) -> list[tuple[float, float]]:
    """(percentile, least share 0..1 of all time beyond it)."""
    body, before, found = 0.0, 0.0, []
    least, most = mean.bounds()
    for p, time in points:
        low, high = time.bounds()
        body += max(p - before, 0) / 100 * high
        before = p
        if p >= 100 or most <= 0:
            continue
        beyond = max(low, 0) * (1 - p / 100) / most
        rest = 1 - body / least if least > 0 else 0.0
        found.append((p, min(max(beyond, rest, 0.0), 1.0)))
    return found


def of_row(row: Row) -> tuple[Figure | None, Points]:
    """Mean and percentiles that stand in one row."""
    mean = row.figures.get("time.mean")
    return _known(mean), [(p, row.figures[k]) for p, k in percentiles(row)]


def of_table(table: Table) -> tuple[Figure | None, Points]:
    """The mean of the whole table, and the percentiles that have a row each."""
    mean = table.figures.get("time.mean")
    rows = ((value(table, r, "percentile"), r) for r in table.of(Role.MEASURED) if "time" in r.figures)
    points = sorted(((p, r.figures["time"]) for p, r in rows if p is not None), key=lambda one: one[0])
    return _known(mean), points


def _known(mean: Figure | None) -> Figure | None:
    return mean if mean is not None and mean.readings else None
