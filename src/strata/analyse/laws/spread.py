"""A mean that says little.

What it claims
    The IOPS of a measurement stay near their mean.
Why it matters
    With a standard deviation of half the mean the rate stood still for a part of the time, or changed its level: the
    mean is the rate at no time.
Evidence
    `deviation` (the standard deviation of the IOPS over intervals of the measurement) beside the IOPS of a row.
What rules it out
    A deviation below half of the mean.
Source
    The coefficient of variation.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, measured, value
from strata.model.figures import Table

NAME, TITLE, ORDER = "spread", "spread beside the mean", 85
SAYS = "the IOPS vary by half of their mean or more within a measurement"
NEXT = "Look at the rate over time, and measure longer."
MOST = 0.5


def check(table: Table) -> Answers:
    for row in measured(table, "iops", "deviation"):
        iops, deviation = value(table, row, "iops") or 0.0, value(table, row, "deviation") or 0.0
        if iops <= 0:
            continue
        yield None
        if deviation >= MOST * iops:
            text = f"the IOPS have a standard deviation of {units.percent(deviation / iops, 2)} of their mean"
            yield flag(row, text, column="deviation", numbers={"iops": iops, "deviation": deviation})
