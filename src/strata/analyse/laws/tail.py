"""The time is in the tail.

What it claims
    Nothing wrong: the percentiles look good, and most of the *time* is still spent in a few slow I/Os.
Why it matters
    Whoever waits for a transaction waits for its slowest I/O. "p99.9 is 0.08 ms" beside a mean of 0.05 ms hides that
    at least four fifths of all time passes in the slowest thousandth.
Evidence
    The mean and the percentiles. I/Os below a percentile take at most its time, those beyond at least its time; both
    give a lower bound for the share of time beyond it.
What rules it out
    A share below 30 %, or a tail of more than one per cent of the I/Os.
Source
    Lower bounds by Markov's inequality; Tene, How not to measure latency, 2013.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strata import units
from strata.analyse.laws.base import flag, percentiles, value
from strata.model.figures import Flag, Role, Row, Table

NAME, TITLE, ORDER = "tail", "share of time in the tail", 70
SAYS = "a few slow I/Os take most of the time"
SHARE, TAIL, NEARLY = 0.3, 1.0, 0.95


def check(table: Table) -> Iterator[Flag]:
    """Rows (or a table of percentiles) whose slowest per cent holds a third of the time."""
    for row in table.of(Role.MEASURED):
        mean = row.figures.get("time.mean")
        points = [(p, row.figures[k].bounds()) for p, k in percentiles(row)]
        if mean is not None and mean.readings:
            yield from _heavy(row, mean.bounds(), points)
    whole = table.figures.get("time.mean")
    points = sorted(
        (p, r.figures["time"].bounds())
        for r in table.of(Role.MEASURED)
        if "time" in r.figures and (p := value(table, r, "percentile")) is not None
    )
    if whole is not None and points:
        yield from _heavy(None, whole.bounds(), points)


def _heavy(
    row: Row | None, mean: tuple[float, float], points: Sequence[tuple[float, tuple[float, float]]]
) -> Iterator[Flag]:
    """The percentile beyond which the most time is shown to pass."""
    body, before, shares = 0.0, 0.0, [(0.0, 0.0)]
    for p, (low, high) in points:
        body += max(p - before, 0) / 100 * high
        before = p
        if not 100 - TAIL <= p < 100 or mean[1] <= 0:
            continue
        beyond = max(low, 0) * (1 - p / 100) / mean[1]
        rest = 1 - body / mean[0] if mean[0] > 0 else 0.0
        shares.append((min(max(beyond, rest), 1.0), p))
    best = max(shares)[0]
    # The smallest tail that holds nearly as much as any.
    share, p = max((s for s in shares if s[0] >= NEARLY * best), key=lambda s: s[1])
    if share < SHARE:
        return
    yield flag(
        NAME,
        row,
        f"at least {units.percent(share, 2)} of the time passes in the slowest {100 - p:.3g} % of the I/Os: the "
        f"mean of {units.duration(sum(mean) / 2)} is made there, the percentiles below do not show it",
        "Look at the slow I/Os over time: a stall, a flush or a full cache; judge by the share of time.",
        broken=False,
        column="time.mean",
        numbers={"share": share, "percentile": p},
    )
