"""The measures of the table: a share with its interval, what it must be, what it aims at."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import betaincinv
from scipy.stats import binom

from diagnosisbench.judge import Judged
from diagnosisbench.kept import Said
from diagnosisbench.trial import Kind

SURE, HALF = 0.8, 0.5
BINS, RESAMPLED = 10, 500
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

    partial: bool = False
    """Whether there are cases that it cannot be told of yet: then it is not met, whatever the others show."""

    @property
    def missed(self) -> bool:
        """Whether the bar is missed by more than chance: the whole interval lies on the wrong side. Cases add up over
        the days: that there are few of them is no failure of the rules."""
        if self.counted or self.bar is None or self.value is None:
            return False
        return not any(self.bar.met(x, self.bar.must) for x in self._ends)

    @property
    def word(self) -> str:
        """In a word how it stands to the bar. What is met is met by the whole interval, not by the value alone."""
        if self.value is None:
            return "no cases" if not self.n else "too few cases"
        if self.bar is None:
            return ""
        if self.missed:
            return "**missed**"
        for bound, word in ((self.bar.aim, "aim"), (self.bar.must, "must")):
            if not self.partial and all(self.bar.met(x, bound) for x in self._ends):
                return word
        if self.counted:
            return "to come"
        if self.bar.must == self.value == 0:
            return "none so far"  # how many cases soever: no interval ends at 0
        return "not yet shown" if self.bar.met(self.value, self.bar.must) else "below, within chance"

    @property
    def _ends(self) -> tuple[float, ...]:
        assert self.value is not None
        return (self.value, *(x for x in (self.low, self.high) if x is not None))


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
        share("partly right, first named", limited, lambda c: c.partly),
        share("what limits the lab anyway, first named", limited, lambda c: c.natural),
        share("healthy blamed at any layer", healthy, lambda c: c.blamed, Bar(0.02, 0.005, most=True)),
        share("healthy: a layer blamed without a cause", healthy, lambda c: c.blamed_without_cause),
        share("healthy blamed at ≥ 0.8", healthy, lambda c: sure(c.blame), Bar(0, 0, most=True)),
        share("wrong at ≥ 0.8", inside, lambda c: c.wrong and sure([c.first]), Bar(0.02, 0, most=True)),
        share("wrong and confirmed", inside, lambda c: c.wrong_confirmed, Bar(0.01, 0, most=True)),
        share("any finding: wrong cause at ≥ 0.8", ended, lambda c: sure(c.all_wrong), Bar(0.02, 0, most=True)),
        share("any finding: wrong and confirmed", ended, _confirmed_wrongly, Bar(0.01, 0, most=True)),
        share("any finding: what the truth rules out", ended, _forbidden, Bar(0.02, 0, most=True)),
        share("outside: wrongly named at ≥ 0.5", outside, _named_outside, Bar(0.15, 0.05, most=True)),
        share("two limits: both of the first three", two, lambda c: c.both, Bar(0.80, 0.95)),
        *_calibration(ended),
        _time("seconds to the verdict, median", cases, Bar(120, 60, most=True)),
        _time("of nine layers", [c for c in cases if c.layers >= MANY_LAYERS], Bar(180, 90, most=True)),
    ]


def withheld(cases: Sequence[Judged], says_what_is_missing: Sequence[bool]) -> list[Row]:
    """Of replays without some of the counters: nobody is confidently wrong, and who does not know says what would
    tell."""
    unsure = [(c, says) for c, says in zip(cases, says_what_is_missing, strict=True) if not c.decided]
    silent = sum(not says for _, says in unsure)
    none = Bar(0, 0, most=True)
    low, high = clopper_pearson(silent, len(unsure)) if unsure else (None, None)
    part = silent / len(unsure) if unsure else None
    return [
        share("confident and wrong", cases, lambda c: sure(c.all_wrong), none),
        Row("does not know and does not say what is missing", part, len(unsure), none, low, high),
    ]


def sure(said: Sequence[Said]) -> bool:
    """Whether one of these is told with a confidence that people act on."""
    return any(s.most >= SURE for s in said)


def _confirmed_wrongly(case: Judged) -> bool:
    return any(s.holds is True for s in case.all_wrong)


def _forbidden(case: Judged) -> bool:
    return any(map(case.forbidden, case.verdict.said))


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
    """The share of the stack that has the least, of those with enough cases; that others have too few is told."""
    rows, few = [], 0
    for stack in sorted({c.stack for c in cases}):
        mine = [c for c in cases if c.stack == stack]
        if len(mine) >= LEAST_OF_A_STACK:
            rows.append(share(f"{name}: {stack}", mine, has, bar))
        else:
            few += 1
    found = min(rows, key=lambda r: r.value or 0.0, default=Row(name, None, len(cases), bar))
    others = f" ({few} stacks have too few)" if few and rows else ""
    return replace(found, name=found.name + others, partial=few > 0)


Told = tuple[float, bool]
"""A confidence, and whether the cause was right."""


def calibration_error(told: Sequence[Told]) -> float | None:
    """Over ten bins of confidence: how far the share that is right is from the mean confidence, weighted by cases."""
    if not told:
        return None
    error = 0.0
    for number in range(BINS):
        mine = [(sure, right) for sure, right in told if min(int(sure * BINS), BINS - 1) == number]
        error += abs(sum(right - sure for sure, right in mine))
    return error / len(told)


def fitted(on: Sequence[Told], other: Sequence[Told]) -> list[Told]:
    """The confidences of the others as the share that was right of these: rising steps (isotonic regression)."""
    of = {sure: [right for s, right in on if s == sure] for sure in sorted({sure for sure, _ in on})}
    steps = isotonic_regression([fmean(rights) for rights in of.values()], weights=[*map(len, of.values())]).x
    at = np.interp([sure for sure, _ in other], list(of), steps)
    return [(float(sure), right) for sure, (_, right) in zip(at, other, strict=True)]


def _calibration(cases: Sequence[Judged]) -> list[Row]:
    """Of the half that confidences may not be fitted on, odd seeds: as they are told, which is what counts, and as a
    fit on the other half would tell them. Right is who names the right cause: a part of it, or what is so anyway, is
    not."""
    fit, check = ([(c.first.confidence, c.right_cause) for c in cases if c.decided and c.seed % 2 == x] for x in (0, 1))
    few = min(len(fit), len(check)) < LEAST_TO_CALIBRATE
    bar = Bar(0.1, 0.05, most=True)
    rows = []
    for name, told, its in (
        ("calibration error, odd seeds", check, bar),
        ("as a fit on even seeds would have it", [] if few else fitted(fit, check), None),
    ):
        low, high = (None, None) if few else _resampled(told)
        rows.append(Row(name, None if few else calibration_error(told), len(check), its, low, high))
    return rows


def _resampled(told: Sequence[Told]) -> tuple[float, float]:
    """95 % interval of the error by resampling (bootstrap percentiles)."""
    chance = random.Random(1)
    errors = [calibration_error(chance.choices(told, k=len(told))) or 0.0 for _ in range(RESAMPLED)]
    low, high = np.percentile(errors, (2.5, 97.5))
    return float(low), float(high)


def _named_outside(case: Judged) -> bool:
    right = any(limit.names(case.first) for limit in case.truth.limits)
    return case.named and not right and case.first.confidence >= HALF


def _count(name: str, cases: Sequence[Judged], must: int, aim: int) -> Row:
    return Row(name, len(cases), len(cases), Bar(must, aim), unit="", counted=True)


def _time(name: str, cases: Sequence[Judged], bar: Bar) -> Row:
    """With the interval of the median that the ordered cases give (sign test), which few of them do not."""
    if not cases:
        return Row(name, None, 0, bar, unit="s")
    ordered = sorted(c.seconds for c in cases)
    outside = int(binom.ppf(0.025, len(ordered), 0.5))
    low, high = (ordered[outside - 1], ordered[-outside]) if outside else (0.0, math.inf)
    return Row(name, median(ordered), len(ordered), bar, low, high, unit="s")


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
