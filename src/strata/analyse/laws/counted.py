"""I/Os ÷ seconds = IOPS.

What it claims
    The counted I/Os divided by the length of the measurement are its IOPS, and the counted bytes its rate.
Why it matters
    A rate that was taken from another interval than the counts (a ramp, a cut end) is not the rate of these I/Os.
Evidence
    `ios`, `seconds` and `iops` of a row, or `bytes`, `seconds` and `rate`, in every reading of the units.
What rules it out
    The rounding of all three, and two per cent: tools count from the first I/O and measure to the last.
Source
    The definition of the three figures.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, Interval, bounds, flag, measured, overlap, rate_readings
from strata.model.figures import Row, Table

NAME, TITLE, ORDER = "counted", "I/Os ÷ seconds", 25
SAYS = "counted I/Os or bytes ÷ seconds do not match the rate beside them"
NEXT = "Check which part of the run each figure is of."
ENDS = 0.02


def check(table: Table) -> Answers:
    for row in measured(table, "ios", "seconds", "iops"):
        yield from _against(table, row, "ios", [bounds(table, row, "iops")], "IOPS")
    for row in measured(table, "bytes", "seconds", "rate"):
        yield from _against(table, row, "bytes", [*rate_readings(row.figures["rate"])], "bytes per second")


def _against(table: Table, row: Row, key: str, said: list[Interval | None], what: str) -> Answers:
    count, length = bounds(table, row, key), bounds(table, row, "seconds")
    spans = [span for span in said if span is not None]
    if count is None or length is None or length[0] <= 0 or not spans:
        return
    yield None
    seconds = (length[0] / units.NS_PER_S, length[1] / units.NS_PER_S)
    found = (count[0] / seconds[1], count[1] / seconds[0])
    if any(overlap(found, span, ENDS) for span in spans):
        return
    middle, printed = sum(found) / 2, sum(spans[0]) / 2
    text = f"{units.significant(count[0])} {'I/Os' if key == 'ios' else key} in {units.significant(seconds[0])} s are "
    text += f"{units.significant(middle)} {what}, but the row says {units.significant(printed)}"
    yield flag(row, text, broken=True, column=key, numbers={"said": printed, "expected": middle})
