"""The measures of the table: a share with its interval, what it must be, what it aims at."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from scipy.special import betaincinv

from diagnosisbench.judge import Judged
from diagnosisbench.trial import Kind

SURE, HALF = 0.8, 0.5
BINS = 10
LEAST_TO_CALIBRATE = 30
"""Fewer verdicts than that lie off the line by chance."""
LEAST_OF_A_STACK = 5
"""Cases that a stack needs to be the worst one."""
MANY_LAYERS = 9


@dataclass(frozen=True)
class Bar:
    """A number that a measure must reach, and one that it aims at; ``most``: they are not to be passed."""

    must: float
    aim: float
    most: bool = False

    def met(self, value: float, bound: float) -> bool:
        """Whether the value is on the right side of the bound."""
        return value <= bound if self.most else value >= bound


@dataclass(frozen=True)
class Row:
    """``value`` over ``n`` cases; ``low`` and ``high`` are its 95 % interval where it is a share."""

    name: str
    value: float | None
    n: int
    bar: Bar | None = None
    low: float | None = None
    high: float | None = None
    unit: str = "%"
    counted: bool = False
    """Whether it is a number of cases."""

    @property
    def missed(self) -> bool:
        """Whether the bar is missed by more than chance: the whole interval lies on the wrong side. Cases add up over
        the days: that there are few of them is no failure of the rules."""
        if self.counted or self.bar is None or self.value is None or self.bar.met(self.value, self.bar.must):
            return False
        ends = [x for x in (self.low, self.high) if x is not None]
        return not any(self.bar.met(x, self.bar.must) for x in ends)

    @property
    def word(self) -> str:
        """In a word how it stands to the bar."""
        if self.value is None:
            return "no cases" if not self.n else "too few cases"
        if self.bar is None:
            return ""
        if self.missed:
            return "**missed**"
        if not self.bar.met(self.value, self.bar.must):
            return "to come" if self.counted else "below, within chance"
        return "aim" if self.bar.met(self.value, self.bar.aim) else "must"


def share(name: str, cases: Sequence[Judged], has: Callable[[Judged], bool], bar: Bar | None = None) -> Row:
    """How many of the cases have it."""
    hits, n = sum(map(has, cases)), len(cases)
    if not n:
        return Row(name, None, 0, bar)
    low, high = clopper_pearson(hits, n)
    return Row(name, hits / n, n, bar, low, high)


def clopper_pearson(hits: int, n: int) -> tuple[float, float]:
    """95 % interval of a share (Clopper and Pearson 1934): never too narrow, however few."""
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, 0.025))
    return low, 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 0.975))


def table(cases: Sequence[Judged]) -> list[Row]:
    """Every measure of the issue's table, over all of these cases.

    A trial without a verdict is a miss where one is due, takes for ever, and is no proof that nobody is blamed.
    """
    of = {kind: [c for c in cases if c.truth.kind is kind] for kind in Kind}
    limited, two = of[Kind.ONE] + of[Kind.TWO], of[Kind.TWO]
    ended = [c for c in cases if not c.failed]
    healthy, outside = ([c for c in of[k] if not c.failed] for k in (Kind.HEALTHY, Kind.OUTSIDE))
    inside = [c for c in ended if c.truth.kind is not Kind.OUTSIDE]
    return [
        _count("cases: all", ended, 160, 843),
        _count("cases: healthy", healthy, 40, 200),
        _count("cases: two limits", [c for c in two if not c.failed], 16, 80),
        _count("cases: outside the catalogue", outside, 16, 80),
        share("trials without a verdict", cases, lambda c: c.failed),
        share("right layer, first named", limited, lambda c: c.right_layer, Bar(0.95, 0.993)),
        worst("right layer, worst stack", limited, lambda c: c.right_layer, Bar(0.90, 0.90)),
        share("right cause, first named", limited, lambda c: c.right_cause, Bar(0.90, 0.958)),
        worst("right cause, worst stack", limited, lambda c: c.right_cause, Bar(0.80, 0.80)),
        share("healthy blamed at any layer", healthy, lambda c: c.blamed, Bar(0.02, 0.005, most=True)),
        share("healthy blamed at ≥ 0.8", healthy, lambda c: c.blamed and sure(c), Bar(0, 0, most=True)),
        share("wrong at ≥ 0.8", inside, lambda c: c.wrong and sure(c), Bar(0.02, 0, most=True)),
        share("wrong and confirmed", inside, lambda c: c.wrong_confirmed, Bar(0.01, 0, most=True)),
        share("outside: wrongly named at ≥ 0.5", outside, _named_outside, Bar(0.15, 0.05, most=True)),
        share("two limits: both of the first three", two, lambda c: c.both, Bar(0.80, 0.95)),
        _calibration(cases),
        _time("seconds to the verdict, median", cases, Bar(120, 60, most=True)),
        _time("of nine layers", [c for c in cases if c.layers >= MANY_LAYERS], Bar(180, 90, most=True)),
    ]


def sure(case: Judged) -> bool:
    """Whether the verdict's confidence is one that people act on."""
    return case.first.confidence >= SURE


def lost(tuned: Sequence[Judged], kept: Sequence[Judged]) -> Row:
    """Points that the right cause loses on what was kept from tuning, with the interval of the difference."""
    bar = Bar(0.05, 0.02, most=True)
    pair = [share("", [c for c in part if c.truth.limits], lambda c: c.right_cause) for part in (tuned, kept)]
    a, b = pair
    if a.value is None or b.value is None:
        return Row("points lost on what was kept", None, b.n, bar)
    # Newcombe 1998, method 10, with the intervals of the two shares.
    assert a.low is not None and a.high is not None and b.low is not None and b.high is not None
    down = math.hypot(a.value - a.low, b.high - b.value)
    up = math.hypot(a.high - a.value, b.value - b.low)
    gap = a.value - b.value
    return Row("points lost on what was kept", gap, b.n, bar, gap - down, gap + up)


def worst(name: str, cases: Sequence[Judged], has: Callable[[Judged], bool], bar: Bar) -> Row:
    """The share of the stack that has the least."""
    rows = []
    for stack in sorted({c.stack for c in cases}):
        mine = [c for c in cases if c.stack == stack]
        if len(mine) >= LEAST_OF_A_STACK:
            rows.append(share(f"{name}: {stack}", mine, has, bar))
    return min(rows, key=lambda r: r.value or 0.0, default=Row(name, None, 0, bar))


def calibration_error(cases: Sequence[Judged]) -> float | None:
    """Over ten bins of confidence: how far the share that is right is from the mean confidence, weighted by cases."""
    said = [c for c in cases if c.decided]
    if not said:
        return None
    error = 0.0
    for number in range(BINS):
        mine = [c for c in said if min(int(c.first.confidence * BINS), BINS - 1) == number]
        if mine:
            right = sum(not c.wrong for c in mine) / len(mine)
            error += abs(right - sum(c.first.confidence for c in mine) / len(mine)) * len(mine)
    return error / len(said)


def _calibration(cases: Sequence[Judged]) -> Row:
    """Of the half that the confidences are not fitted on: odd seeds."""
    half = [c for c in cases if c.seed % 2 and c.decided]
    error = calibration_error(half) if len(half) >= LEAST_TO_CALIBRATE else None
    return Row("calibration error, odd seeds", error, len(half), Bar(0.1, 0.05, most=True))


def _named_outside(case: Judged) -> bool:
    right = any(limit.names(case.first) for limit in case.truth.limits)
    return case.named and not right and case.first.confidence >= HALF


def _count(name: str, cases: Sequence[Judged], must: int, aim: int) -> Row:
    return Row(name, len(cases), len(cases), Bar(must, aim), unit="", counted=True)


def _time(name: str, cases: Sequence[Judged], bar: Bar) -> Row:
    return Row(name, median(c.seconds for c in cases) if cases else None, len(cases), bar, unit="s")


def text(rows: Sequence[Row], title: str) -> str:
    """A Markdown table."""
    lines = [f"| {title} | measured | 95 % interval | n | must | aim | |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        ends = [_number(x, row.unit) for x in (row.value, row.low, row.high)]
        span = f"{ends[1]} to {ends[2]}" if row.low is not None else ""
        bars = [_number(x, row.unit) for x in ((row.bar.must, row.bar.aim) if row.bar else (None, None))]
        lines.append(f"| {row.name} | {ends[0]} | {span} | {row.n} | {bars[0]} | {bars[1]} | {row.word} |")
    return "\n".join(lines)


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    return {"%": f"{value * 100:.1f} %", "s": f"{value:.0f} s"}.get(unit, f"{value:.0f}")
