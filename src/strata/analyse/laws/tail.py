"""Most of the time is in the tail.

What it claims
    It does not claim an error: the percentiles look good, but most of the *time* is spent in a few slow I/Os.
Why it matters
    A transaction waits for its slowest I/O. "p99.9 is 0.08 ms" beside a mean of 0.05 ms hides that at least four
    fifths of all time is spent in the slowest thousandth.
Evidence
    The mean and the percentiles. I/Os below a percentile take at most its time, those beyond at least its time; both
    give a lower bound for the share of time beyond it.
What rules it out
    A share below 30 %, or a tail of more than one per cent of the I/Os.
Source
    Lower bounds by Markov's inequality; Tene, How not to measure latency, 2013.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, Points, flag, of_row, of_table, shares
from strata.analyse.laws.mean import outside
from strata.model.figures import Figure, Role, Row, Table

NAME, TITLE, ORDER = "tail", "share of time in the tail", 70
SAYS = "a few slow I/Os take most of the time"
NEXT = "Look at the slow I/Os over time (a stall, a flush or a full cache); judge by the share of time."
SHARE, TAIL, NEARLY = 0.3, 1.0, 0.95


def check(table: Table) -> Answers:
    """Rows (or a table of percentiles) whose slowest per cent holds a third of the time."""
    for row in table.of(Role.MEASURED):
        yield from _heavy(row, *of_row(row))
    yield from _heavy(None, *of_table(table))


def _heavy(row: Row | None, mean: Figure | None, points: Points) -> Answers:
    """The percentile beyond which the most time is shown to pass."""
    if mean is None or not points:
        return
    yield None
    if outside(mean, points) is not None:
        # They do not belong together, which is told by itself: nothing follows from both.
        return
    found = [(0.0, 0.0), *((share, p) for p, share in shares(mean, points) if p >= 100 - TAIL)]
    best = max(found)[0]
    # The smallest tail that holds nearly as much as any.
    share, p = max((s for s in found if s[0] >= NEARLY * best), key=lambda s: s[1])
    if share < SHARE:
        return
    text = f"at least {units.percent(share, 2)} of the time is spent in the slowest {100 - p:.3g} % of the I/Os: they "
    text += f"make the mean of {units.duration(mean.base)}, the percentiles below do not show it"
    yield flag(row, text, column="time.mean", numbers={"share": share, "percentile": p})
