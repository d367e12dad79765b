"""A reported change against the figures beside it.

What it claims
    The reported percentage or difference is that of the two figures beside it.
Why it matters
    The percentage is what is quoted, and a wrong base (after instead of before) changes it.
Evidence
    The figure before, the figure after, and the reported change.
What rules it out
    Every value that the rounding of the three allows.
Source
    Arithmetic.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, Interval, flag, overlap
from strata.model.figures import Role, Table

NAME, TITLE, ORDER = "change", "reported change", 230
SAYS = "a percentage or difference that does not match its two figures"
NEXT = "Recalculate it from the two figures."


def check(table: Table) -> Answers:
    for row in table.rows:
        if row.role is Role.PLANNED or not {"before", "after"} <= set(row.figures):
            continue
        before, after = row.figures["before"].bounds(), row.figures["after"].bounds()
        if "change" in row.figures and before[0] > 0:
            yield None
            span: Interval = (after[0] / before[1] - 1, after[1] / before[0] - 1)
            said = row.figures["change"]
            if not overlap(_shift(span), _shift(said.bounds())):
                middle = row.figures["after"].base / row.figures["before"].base - 1
                text = f"{row.figures['before'].value:g} to {row.figures['after'].value:g} is "
                text += f"{_signed(middle)}, but {_signed(said.base)} is reported"
                numbers = {"reported": said.base, "found": middle}
                yield flag(row, text, broken=True, column="change", numbers=numbers)
        if "difference" in row.figures:
            yield None
            told = row.figures["difference"].bounds()
            if told[0] > after[1] - before[0] + 1e-9 or told[1] < after[0] - before[1] - 1e-9:
                middle = row.figures["after"].base - row.figures["before"].base
                text = f"the difference is {middle:g}, but {row.figures['difference'].value:g} is reported"
                yield flag(row, text, broken=True, column="difference", numbers={"found": middle})


def _shift(span: Interval) -> Interval:
    """As factors, which are positive: the slack of a comparison is relative."""
    return 1 + span[0], 1 + span[1]


def _signed(share: float) -> str:
    return f"{'+' if share > 0 else '−'}{units.percent(abs(share))}"
