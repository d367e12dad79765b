"""The mean lies where the percentiles allow it.

What it claims
    The mean time is at least what the percentiles add up to (half of the I/Os take at least the median, one in a
    hundred at least p99), and where the maximum is known, at most what they add up to from above.
Why it matters
    A mean below that is not of the same I/Os: the submission time beside the whole, another direction, milliseconds
    beside microseconds, or a mean of medians. Every ratio made with it is wrong.
Evidence
    The mean and at least one percentile of a row, or of a table with a row for each percentile.
What rules it out
    Several rounds: a mean of rounds is not the mean of their I/Os where the rounds differ. Rounding; two per cent are
    allowed for the buckets of histograms.
Source
    The mean is the integral of the quantile function (Gilchrist, Statistical Modelling with Quantile Functions, 2000),
    which never falls; with one percentile it is Markov's inequality.
"""

from __future__ import annotations

from itertools import pairwise

from strata import units
from strata.analyse.laws.base import Answers, Points, flag, of_row, of_table, value
from strata.model.figures import Figure, Role, Row, Table

NAME, TITLE, ORDER = "mean", "mean and percentiles", 65
SAYS = "the mean is not one of these percentiles"
TOLERANCE = 0.02
NEXT = "Check that both are of the same I/Os, in the same unit."


def check(table: Table) -> Answers:
    for row in table.of(Role.MEASURED):
        if (value(table, row, "rounds") or 1) <= 1:
            yield from _outside(row, *of_row(row))
    yield from _outside(None, *of_table(table))


def _outside(row: Row | None, mean: Figure | None, points: Points) -> Answers:
    if mean is None or not points:
        return
    yield None
    least, most = within(points)
    bound = outside(mean, points)
    if bound is None:
        return
    text = f"the mean is {units.duration(mean.base)}, and the percentiles add up to {bound}"
    numbers = {"mean": mean.base, "least": least} | ({} if most is None else {"most": most})
    yield flag(row, text, broken=True, column="time.mean", numbers=numbers)


def outside(mean: Figure, points: Points) -> str | None:
    """What the percentiles add up to, where it is not the mean; None where it may be."""
    (least, most), (low, high) = within(points), mean.bounds()
    if high < least * (1 - TOLERANCE):
        return f"at least {units.duration(least)}"
    if most is not None and low > most * (1 + TOLERANCE):
        return f"at most {units.duration(most)}"
    return None


def within(points: Points) -> tuple[float, float | None]:
    """Between what the mean lies, in ns: each part of the I/Os takes at least the percentile below it, and at most the
    one above it. The upper bound is None without a maximum.
    """
    edges = [(p, time.bounds()) for p, time in points]
    ends = [p for p, _ in edges[1:]] + [100.0]
    least = sum((end - p) / 100 * max(low, 0.0) for (p, (low, _)), end in zip(edges, ends, strict=True))
    if edges[-1][0] < 100:
        return least, None
    whole = [(0.0, (0.0, 0.0)), *edges]
    return least, sum((q - p) / 100 * high for (p, _), (q, (_, high)) in pairwise(whole))
