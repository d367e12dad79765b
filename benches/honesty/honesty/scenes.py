"""Series whose truth is known: a scene draws the rates of a measurement and says what its level truly was when.

Rates in IOPS, bins of `BIN_S` seconds. Noise is multiplicative: independent, or a first-order autoregression whose
correlation falls to 1/e in ``tau`` seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Generator = np.random.Generator

BIN_S = 0.1
IOPS = 10_000.0


@dataclass(frozen=True)
class Scene:
    """``draw`` gives (rates, level): what was seen in each bin, and the long-run truth that holds in it."""

    name: str
    draw: Callable[[Generator, int], tuple[Floats, Floats]]
    steady: bool = True
    """Whether it has one level for good; else the level at the end of the measurement is the truth."""


def noise(rng: Generator, n: int, cv: float, tau: float) -> Floats:
    """Standard deviation ``cv``, mean 0."""
    step = rng.normal(0.0, 1.0, n + 1)
    if tau == 0:
        return cv * step[1:]
    phi = float(np.exp(-BIN_S / tau))
    found = np.empty(n)
    last = step[0]
    for i in range(n):
        last = phi * last + np.sqrt(1 - phi * phi) * step[i + 1]
        found[i] = last
    return cv * found


def _level(n: int, value: float = 1.0) -> Floats:
    return np.full(n, value * IOPS)


def correlated(cv: float, tau: float) -> Scene:
    """A steady level under such noise."""

    def draw(rng: Generator, n: int) -> tuple[Floats, Floats]:
        return _level(n) * np.maximum(0.02, 1 + noise(rng, n, cv, tau)), _level(n)

    what = f"correlated over {tau:g} s" if tau else "independent"
    return Scene(f"{what}, {cv:.0%} a bin".replace("%", " %"), draw)


def counted(iops: float) -> Scene:
    """So slow that counting is the noise, as on one spindle."""

    def draw(rng: Generator, n: int) -> tuple[Floats, Floats]:
        return rng.poisson(iops * BIN_S, n) / BIN_S, np.full(n, iops)

    return Scene(f"counting noise at {iops:g} IOPS", draw)


def stalled(every_s: float) -> Scene:
    """Stalls of 0.2 s to a fifth of the rate, one in ``every_s`` on average, at any time."""

    def draw(rng: Generator, n: int) -> tuple[Floats, Floats]:
        whole = np.ones(n)
        for start in np.flatnonzero(rng.random(n + 2) < BIN_S / every_s):
            whole[max(0, start - 2) : start] = 0.2
        share = (1 - BIN_S / every_s) ** 2
        return _level(n) * whole * (1 + noise(rng, n, 0.03, 0)), _level(n, share + (1 - share) * 0.2)

    return Scene(f"spikes: a stall of 0.2 s in {every_s:g} s", draw)


def waving() -> Scene:
    """A wave of 2 s and ±15 %, as of garbage collection, begun anywhere."""

    def draw(rng: Generator, n: int) -> tuple[Floats, Floats]:
        at = np.arange(n) * BIN_S + rng.random() * 2
        return _level(n) * (1 + 0.15 * np.sin(np.pi * at) + noise(rng, n, 0.03, 0)), _level(n)

    return Scene("wave of 2 s, ±15 %", draw)


def ramped() -> Scene:
    """Begins at 40 % and closes in on the level within seconds."""

    def draw(rng: Generator, n: int) -> tuple[Floats, Floats]:
        rise = 1 - 0.6 * np.exp(-np.arange(n) * BIN_S / 0.7)
        return _level(n) * rise * (1 + noise(rng, n, 0.03, 0.1)), _level(n)

    return Scene("ramp", draw)


def cliff(at_s: float) -> Scene:
    """A write cache that is full after ``at_s``: a third of the rate is left."""

    def draw(rng: Generator, n: int) -> tuple[Floats, Floats]:
        level = np.where(np.arange(n) * BIN_S < at_s, 1.0, 0.35) * IOPS
        return level * (1 + noise(rng, n, 0.05, 0.2)), level

    return Scene(f"cliff at {at_s:g} s", draw, steady=False)


def trend() -> Scene:
    """Falls by a third within 30 s and never settles: the truth is the mean of what it went through."""

    def draw(rng: Generator, n: int) -> tuple[Floats, Floats]:
        level = IOPS * (1 - np.arange(n) * BIN_S / 90)
        return level * (1 + noise(rng, n, 0.03, 0.1)), level

    return Scene("trend: -33 % in 30 s", draw, steady=False)


ALL: tuple[Scene, ...] = (
    correlated(0.03, 0),
    correlated(0.10, 0),
    correlated(0.03, 0.1),
    correlated(0.10, 0.1),
    correlated(0.03, 0.3),
    correlated(0.10, 0.3),
    correlated(0.03, 1.0),
    correlated(0.10, 1.0),
    counted(200),
    stalled(1.0),
    waving(),
    ramped(),
    cliff(2.5),
    cliff(8.0),
    trend(),
)

BEYOND: tuple[Scene, ...] = (correlated(0.03, 2.0), correlated(0.03, 5.0), stalled(3.0), stalled(10.0))
"""What a measurement of a few seconds cannot see: no bar is set for these, and the table shows how far off it is."""
