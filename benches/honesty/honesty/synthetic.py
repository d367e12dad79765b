"""Coverage of stated intervals and A/A differences on known series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from honesty.rows import Row
from honesty.scenes import BIN_S, Floats, Generator, Scene, noise
from strata.analyse.series.course import course_of
from strata.analyse.series.mean import mean_of
from strata.analyse.series.prior import NoisePrior, pool
from strata.analyse.series.quantile import quantile_of
from strata.analyse.series.until import StoppingRule
from strata.analyse.stats import centre
from strata.model.course import Aim, Course, Ending
from strata.model.result import Interval, IntervalDirection

AIM = Aim(mean=0.02, percentile=None, seconds_min=3, seconds_max=30)
NONE = IntervalDirection(ops=0, bytes=0, errors=0)
BIN_NS = round(BIN_S * 1e9)


def intervals_of(rates: Floats) -> list[Interval]:
    """As the engine gives them; half I/Os are kept, so that rounding is no noise of its own."""
    return [
        Interval.model_construct(
            start_ns=i * BIN_NS,
            end_ns=(i + 1) * BIN_NS,
            read=IntervalDirection.model_construct(
                ops=rate * BIN_S, bytes=rate * BIN_S * 4096, errors=0, service_time=None, service_sum_ns=0
            ),
            write=NONE,
        )
        for i, rate in enumerate(rates)
    ]


def until(intervals: Sequence[Interval], aim: Aim, prior: NoisePrior | None = None) -> tuple[Course | None, int]:
    """(the course as it was when it ended, the bins measured)."""
    rule = StoppingRule(aim, prior)
    number = next((i for i, one in enumerate(intervals, start=1) if rule.add(one) is not None), len(intervals))
    return course_of(intervals[:number], aim=aim, ended=rule.ended, prior=prior, percentiles=()), number


def truth_of(course: Course, level: Floats) -> float:
    """The mean level over the regime that is reported."""
    last = course.regimes[-1]
    return float(level[round(last.start_s / BIN_S) : round(last.end_s / BIN_S)].mean())


def scene(one: Scene, times: int, seed: int, aim: Aim = AIM, prior: NoisePrior | None = None) -> Row:
    """Each of ``times`` pairs: two measurements until the aim, held against the truth and against each other."""
    rng = np.random.default_rng(seed)
    inside = different = steady = precise = 0
    lengths: list[float] = []
    for _ in range(times):
        pair = []
        for _ in range(2):
            rates, level = one.draw(rng, round(aim.seconds_max / BIN_S))
            course, bins = until(intervals_of(rates), aim, prior)
            assert course is not None
            truth = truth_of(course, level)
            value, half = course.iops.value, course.iops.half_width or 0.0
            inside += abs(value - truth) <= half
            steady += course.steady
            precise += course.ended is Ending.PRECISION
            lengths.append(bins * BIN_S)
            pair.append((value, half, truth))
        (a, ha, ta), (b, hb, tb) = pair
        # Of two that ended in different states the difference is true.
        different += abs((a - ta) - (b - tb)) > math.hypot(ha, hb)
    return Row(
        name=one.name,
        coverage=inside / (2 * times),
        different=different / times,
        seconds=float(np.median(lengths)),
        precise=precise / (2 * times),
        steady=steady / (2 * times),
        times=2 * times,
    )


def few_rounds(n: int, noisier: float, times: int, seed: int) -> Row:
    """A cell ``noisier`` times as noisy as the pooled 5 %, with ``n`` rounds."""
    rng = np.random.default_rng([seed, n, round(noisier * 10)])
    inside = different = 0
    for _ in range(times):
        (a, ha), (b, hb) = (centre(rng.normal(0, 0.05 * noisier, n).tolist(), 0.05) for _ in range(2))
        inside += (abs(a) <= (ha or 0)) + (abs(b) <= (hb or 0))
        different += abs(a - b) > math.hypot(ha or 0, hb or 0)
    return Row(f"{n} rounds, {noisier:g} times as noisy", inside / (2 * times), different / times, times=2 * times)


def with_prior(noisier: float, times: int, seed: int) -> Row:
    """3 s of a cell ``noisier`` times as noisy as the eight others it shares a prior with."""
    rng = np.random.default_rng([seed, round(noisier * 10)])
    inside = different = 0
    for _ in range(times):
        others = [mean_of(1 + noise(rng, 30, 0.05, 0.3), BIN_S) for _ in range(8)]
        prior = pool([(m.variance_s, m.df) for m in others if m is not None])
        pair = [mean_of(1 + noise(rng, 30, 0.05 * noisier, 0.3), BIN_S, prior) for _ in range(2)]
        a, b = (m for m in pair if m is not None)
        inside += (abs(a.value - 1) <= a.half) + (abs(b.value - 1) <= b.half)
        different += abs(a.value - b.value) > math.hypot(a.half, b.half)
    name = f"3 s with a pooled prior, {noisier:g} times as noisy"
    return Row(name, inside / (2 * times), different / times, times=2 * times)


def percentile(name: str, tau: float, times: int, seed: int, seconds: float = 10.0, per_bin: int = 300) -> Row:
    """A percentile of log-normal times whose scale wanders by 10 %, correlated over ``tau`` seconds."""
    rng = np.random.default_rng([seed, round(tau * 10), round(float(name) * 100)])
    bins = round(seconds / BIN_S)
    truth = _truth(float(name) / 100)
    inside = different = given = pairs = 0
    for _ in range(times):
        pair = []
        for _ in range(2):
            scale = np.exp(noise(rng, bins, 0.1, tau))
            found = quantile_of([_counts(rng, s, per_bin) for s in scale], name)
            if found is None or found.low is None or found.high is None:
                continue
            inside += found.low <= truth <= found.high
            pair.append((found.value, found.low, found.high))
        given += len(pair)
        if len(pair) == 2:
            pairs += 1
            different += _apart(*pair)
    return Row(
        f"p{name} of {seconds:g} s, correlated over {tau:g} s",
        inside / max(1, given),
        different / max(1, pairs),
        given=given / (2 * times),
        times=given,
    )


def _apart(a: tuple[float, float, float], b: tuple[float, float, float]) -> bool:
    if a[0] > b[0]:
        a, b = b, a
    return b[0] - a[0] > math.hypot(a[2] - a[0], b[0] - b[1])


def _counts(rng: Generator, scale: float, n: int) -> tuple[list[int], list[int]]:
    # Buckets of a thousandth, as in the engine's histograms.
    steps = np.round(np.log(scale * 100_000) / 0.001 + rng.normal(0, 0.3, n) / 0.001)
    values, counts = np.unique(np.exp(steps * 0.001).astype(np.int64), return_counts=True)
    return values.tolist(), counts.tolist()


def _truth(share: float) -> float:
    # Log scales add: two independent normals.
    return 100_000 * math.exp(math.hypot(0.1, 0.3) * NormalDist().inv_cdf(share))
