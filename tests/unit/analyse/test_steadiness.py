"""Stalls, slow phases, cliffs and the tail in made-up series: found where they are, and not in noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from strata.analyse.rounds import CellRounds, collect
from strata.analyse.series.episodes import episodes
from strata.analyse.steadiness import steadiness, tail
from strata.model import histogram
from strata.model.steadiness import Episodes

from .material import cell_result, engine_result, workload

BIN = 0.02
Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def level(period: float, length: float, low: float, phase: float) -> Callable[[float], float]:
    """1, and ``low`` for ``length`` seconds in each ``period``."""
    return lambda t: low if (t + phase) % period < length else 1.0


def series(
    seed: int,
    *,
    rounds: int = 5,
    seconds: float = 1.0,
    iops: float = 1600,
    noise: float = 0.1,
    at: Callable[[int], Callable[[float], float]] = lambda _: lambda _: 1.0,
) -> list[Floats]:
    """Counts of bins: what a medium of that rate does under a time-dependent level, with noise that is correlated."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(rounds):
        shape, fine = at(number), BIN / 20
        times = np.arange(round(seconds / fine)) * fine
        rate = np.array([shape(float(t)) for t in times]).reshape(-1, 20).mean(axis=1) * iops * BIN
        drift = np.zeros(rate.size)
        for i in range(1, rate.size):
            drift[i] = 0.6 * drift[i - 1] + 0.8 * rng.normal()
        made.append(np.maximum(0, np.round(rate * np.exp(noise * drift) + rng.normal(0, 0.3, rate.size) * (rate > 0))))
    return made


def found(seed: int, period: float, length: float, low: float, **how: float) -> Episodes | None:
    phases = np.random.default_rng(seed + 1000).uniform(0, period, 10)
    return episodes(series(seed, at=lambda n: level(period, length, low, phases[n]), **how), BIN)  # type: ignore[arg-type]


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.2])
@pytest.mark.parametrize(("period", "length"), [(0.5, 0.06), (0.5, 0.12), (0.5, 0.25), (0.31, 0.09), (0.8, 0.2)])
def test_stalls_are_found_with_their_length_and_share(period: float, length: float, noise: float) -> None:
    for seed in range(5):
        seen = found(seed, period, length, 0.0, noise=noise, seconds=1.2)
        assert seen is not None and seen.factor is None, seed
        assert seen.share == pytest.approx(length / period, rel=0.35)
        assert seen.length_s == pytest.approx(length, rel=0.35)
        assert seen.period_s is None or seen.period_s == pytest.approx(period, rel=0.1)


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize(
    ("factor", "period", "length"), [(3, 0.4, 0.24), (8, 0.4, 0.24), (30, 0.4, 0.24), (5, 0.3, 0.1)]
)
def test_slow_phases_are_found_with_their_factor_and_period(
    factor: float, period: float, length: float, noise: float
) -> None:
    for seed in range(5):
        seen = found(seed, period, length, 1 / factor, noise=noise, seconds=1.2)
        assert seen is not None and seen.factor is not None, seed
        assert seen.factor == pytest.approx(factor, rel=0.45)
        assert seen.share == pytest.approx(length / period, rel=0.3)
        assert seen.period_s == pytest.approx(period, rel=0.1)


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.15, 0.3])
def test_noise_alone_however_correlated_has_no_two_levels(noise: float) -> None:
    seen = [episodes(series(seed, noise=noise), BIN) for seed in range(40)]
    assert sum(s is not None for s in seen) <= 1


def test_rounds_of_different_levels_are_no_phases() -> None:
    assert episodes([r * f for r, f in zip(series(1), (1, 0.5, 2, 0.7, 1.4), strict=True)], BIN) is None


def test_random_pauses_have_no_period() -> None:
    rng = np.random.default_rng(3)
    rounds = series(3, seconds=2.0)
    for one in rounds:
        for start in rng.choice(one.size - 4, 4, replace=False):
            one[start : start + 3] = 0
    seen = episodes(rounds, BIN)
    assert seen is not None and seen.count >= 15 and seen.period_s is None


def test_missing_intervals_and_short_rounds_say_nothing() -> None:
    assert episodes([], BIN) is None
    assert episodes([np.zeros(0)], BIN) is None
    assert episodes([np.zeros(40)], BIN) is None
    assert episodes([np.array([0.0, 30, 0, 30])], BIN) is None


def cell(rates: list[Floats], rw: str = "randread", depth: int = 8, payload: str | None = None) -> CellRounds:
    w = workload(rw, depth=depth)
    results = []
    for number, one in enumerate(rates):
        iops = float(one.mean()) / BIN
        result = engine_result(
            w, iops, seconds=one.size * BIN, rates=[c / BIN for c in one], payload=payload, ramp_ns=250_000_000
        )
        moved = tuple(
            i.model_copy(
                update={
                    k: getattr(i, k).model_copy(update={"bytes": n * w.bs, "ops": n})
                    for k, n in (
                        ("write", i.read.ops if w.rw.writes else 0),
                        ("read", 0 if w.rw.writes else i.read.ops),
                    )
                }
            )
            for i in result.intervals
        )
        results.append(cell_result("disk", w, number, result.model_copy(update={"intervals": moved})))
    return collect("disk", w, results)


def test_a_pause_that_is_in_the_nature_of_slow_ios_is_no_stall() -> None:
    stalled = series(1, at=lambda _: level(0.5, 0.12, 0.0, 0.1))
    quick, slow = histogram.from_bins({5_000_000: 1000}), histogram.from_bins({60_000_000: 1000})
    seen = steadiness(cell(stalled, payload=quick))
    assert seen is not None and seen.stalls is not None and seen.slow is None
    assert seen.stalls.share == pytest.approx(0.24, rel=0.3)
    seen = steadiness(cell(stalled, payload=slow))
    assert seen is not None and seen.stalls is None


def test_few_ios_are_looked_at_in_longer_bins_and_too_few_not_at_all() -> None:
    seen = steadiness(cell(series(1, iops=200)))
    assert seen is not None and seen.bin_s == pytest.approx(0.04)
    assert seen.stalls is None and seen.slow is None
    assert steadiness(cell(series(1, iops=30))) is None


@pytest.mark.parametrize("at_s", [0.4, 0.9])
@pytest.mark.parametrize("factor", [2.0, 6.0])
def test_a_cliff_has_the_size_of_what_filled_up_and_the_rate_at_which_it_drains(at_s: float, factor: float) -> None:
    def one(t: float) -> float:
        return 1.0 if t < at_s else 1 / factor

    seen = steadiness(cell(series(2, rounds=3, seconds=1.6, at=lambda _: one), "randwrite"))
    assert seen is not None and seen.cliff is not None
    assert seen.cliff.written == pytest.approx(1600 * 8192 * (at_s + 0.25), rel=0.15)
    assert seen.cliff.after == pytest.approx(1600 * 8192 / factor, rel=0.15)
    reads = steadiness(cell(series(2, rounds=3, seconds=1.6, at=lambda _: one), "randread"))
    assert reads is not None and reads.cliff is None


@pytest.mark.parametrize("at_s", [0.4, 0.9])
def test_writes_that_end_for_good_fill_no_cache(at_s: float) -> None:
    """A server that stood still until the end once was a cliff with a drain of nothing, and no verdict came."""
    seen = steadiness(cell(series(2, rounds=3, seconds=1.6, at=lambda _: lambda t: float(t < at_s)), "randwrite"))
    assert seen is not None and seen.cliff is None


def test_an_even_write_has_no_cliff_and_waves_are_none() -> None:
    for seed in range(10):
        seen = steadiness(cell(series(seed, noise=0.2), "randwrite"))
        assert seen is not None and seen.cliff is None
    seen = steadiness(cell(series(1, seconds=1.2, at=lambda n: level(0.4, 0.24, 0.2, n / 9)), "randwrite"))
    assert seen is not None and seen.cliff is None and seen.slow is not None


def test_drift_is_the_last_third_over_the_first() -> None:
    seen = steadiness(cell(series(4, at=lambda _: lambda t: 1 - 0.3 * t)))
    assert seen is not None and seen.drift is not None
    assert seen.drift.value == pytest.approx(0.78, abs=0.06)
    assert seen.drift.high is not None and seen.drift.high < 1


def test_the_tail_says_whose_time_it_is() -> None:
    payload = histogram.from_bins({1_000_000: 990, 100_000_000: 10})
    seen = tail(cell(series(1, rounds=1), payload=payload))
    assert seen is not None
    assert seen.most == pytest.approx(100, rel=0.01)
    assert seen.slowest_share == pytest.approx(1000 / 1990, rel=0.01)
    assert (seen.far_ios, seen.far_time) == (pytest.approx(0.01), pytest.approx(1000 / 1990, rel=0.01))
    assert seen.far_ns == pytest.approx(1e8, rel=0.01)
    even = tail(cell(series(1, rounds=1), payload=histogram.from_bins({1_000_000: 1000})))
    assert even is not None and even.slowest_share == pytest.approx(0.01) and even.far_ns is None
