"""How much of a time depended on what was multiplied.

With k times as much of a resource a time T splits into the part p that the resource made, which falls to p ÷ k, and the
rest, which stays: T′ ÷ T = 1 − p + p ÷ k, so p = (1 − T′ ÷ T) ÷ (1 − 1 ÷ k); for a doubling 2 · (1 − T′ ÷ T). A rate
stands for 1 ÷ T.

Source: Amdahl, Validity of the single processor approach, AFIPS 1967, solved for the part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from strata.analyse.laws.base import Interval, noise, value
from strata.model.estimate import Estimate
from strata.model.figures import Role, Row, Table
from strata.model.scale import ScaledTask

WHOLE = 0.9
KINDS = ("time", "rate")


@dataclass(frozen=True)
class Answer:
    """How a row followed: ``part`` p of its time that was made by what was multiplied ``factor`` times.

    ``span`` is what rounding and the noise of two measurements leave open of p; ``times`` how many times as fast it
    became.
    """

    row: Row
    factor: float
    times: float
    part: float
    span: Interval

    @property
    def followed(self) -> bool | None:
        """Whether all of it followed, with what is left open; None where it cannot be told from a part."""
        if self.span[0] >= WHOLE or (self.part >= WHOLE and self.span[0] > 0.5):
            return True
        return False if self.span[1] < WHOLE else None


def factor(table: Table) -> float | None:
    """k, of ``count.before`` and ``count.after`` of the whole table; None where nothing was added."""
    before, after = table.figures.get("count.before"), table.figures.get("count.after")
    if before is None or after is None or before.base <= 0 or after.base <= before.base:
        return None
    return after.base / before.base


def answers(table: Table) -> Iterator[Answer]:
    """Measured rows before and after (or their ratio), whose label ``of`` says whether they are a time or a rate."""
    k = factor(table)
    for row in table.of(Role.MEASURED) if k is not None else ():
        found = ratio(table, row)
        if found is None or k is None:
            continue
        middle, low, high = found
        spread = math.exp(math.sqrt(2) * noise(table))
        yield Answer(row, k, 1 / middle, _part(middle, k), (_part(high * spread, k), _part(low / spread, k)))


def ratio(table: Table, row: Row) -> tuple[float, float, float] | None:
    """T′ ÷ T of a row with its bounds by rounding; None where it is not said whether less is better."""
    of = table.word(row, "of")
    before, after, printed = (row.figures.get(k) for k in ("before", "after", "ratio"))
    if of not in KINDS:
        return None
    if before is not None and after is not None and before.bounds()[0] > 0 and after.bounds()[0] > 0:
        (a, b), (c, d) = before.bounds(), after.bounds()
        found = (after.base / before.base, c / b, d / a)
    elif printed is not None and printed.bounds()[0] > 0:
        found = (value(table, row, "ratio") or 1.0, *printed.bounds())
    else:
        return None
    return found if of == "time" else (1 / found[0], 1 / found[2], 1 / found[1])


def _part(ratio_of_times: float, k: float) -> float:
    return (1 - ratio_of_times) / (1 - 1 / k)


def task_of(
    name: str, of: str, factor: float, times: float, part: float, span: Interval | None, before: float | None,
    after: float | None, n: int = 2, measured: tuple[Estimate, Estimate] | None = None,
) -> ScaledTask:  # fmt: skip
    """With what as many times more would bring, and endlessly many."""
    part = min(max(part, 0.0), 1.0)
    low, high = (None, None) if span is None else sorted(min(max(p, 0.0), 1.0) for p in span)
    now = 1 - part + part / factor
    return ScaledTask(
        name=name, of=of, factor=factor, times=times, before=before, after=after, measured=measured,
        part=Estimate(
            value=part, low=None if low is None else min(low, part), high=None if high is None else max(high, part),
            n=n, unit="ratio",
        ),
        again=now / (1 - part + part / factor**2), most=now / (1 - part) if part < 1 else None,
    )  # fmt: skip


def timed(name: str, of: str, factor: float, before: Estimate, after: Estimate) -> ScaledTask:
    """A task whose duration was measured with as many and with ``factor`` times as many; both in ns.

    The interval of the part is that of the ratio of the two durations, whose errors are independent.
    """
    found = after.value / before.value
    halves = [e.half_width for e in (before, after)]
    span = None
    if halves[0] is not None and halves[1] is not None:
        spread = math.exp(math.hypot(halves[0] / before.value, halves[1] / after.value))
        span = (_part(found * spread, factor), _part(found / spread, factor))
    return task_of(
        name, of, factor, 1 / found, _part(found, factor), span, before.value, after.value, before.n + after.n,
        (before, after),
    )  # fmt: skip
