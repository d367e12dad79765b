"""Axes: from values to places, and ticks people can read."""

from __future__ import annotations

import math
from collections.abc import Callable

Scale = Callable[[float], float]


def linear(low: float, high: float, start: float, end: float) -> Scale:
    """``low..high`` onto ``start..end``."""
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def logarithmic(low: float, high: float, start: float, end: float) -> Scale:
    """The same on a logarithmic axis; ``low`` must be above 0."""
    inner = linear(math.log10(low), math.log10(high), start, end)
    return lambda value: inner(math.log10(max(value, low * 1e-3)))


def tail(percentile: float) -> float:
    """How many nines: 0.3 at the median, 1 at 90, 2 at 99, 4 at 99.99. Spreads the tail where it matters."""
    return -math.log10(max(1 - percentile / 100, 1e-9))


def nice_ceiling(value: float) -> float:
    """The next 1, 2, 2.5 or 5 times a power of ten at or above ``value``."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= value * (1 - 1e-9))


def linear_ticks(high: float, about: int = 4) -> tuple[float, ...]:
    """From 0 to at most ``high`` in even steps of 1, 2, 2.5 or 5."""
    step = nice_ceiling(high / about)
    return tuple(step * i for i in range(int(high / step + 1e-9) + 1))


def linear_top(most: float) -> float:
    """The first step of the ticks that ``most`` is not above."""
    ticks = linear_ticks(most)
    return ticks[-1] if ticks[-1] >= most else ticks[-1] + ticks[1]


def log_range(low: float, high: float) -> tuple[float, float]:
    """Widened to steps of 1, 2 and 5, and to at least a factor of ten, so that noise does not look like a cliff."""
    steps = [m * 10.0**e for e in range(-3, 16) for m in (1, 2, 5)]
    bottom = max(s for s in steps if s <= low * (1 + 1e-9))
    top = min(s for s in steps if s >= high * (1 - 1e-9))
    while top / bottom < 10:
        top = min(s for s in steps if s > top * 1.0001)
    return bottom, top


def log_ticks(low: float, high: float) -> tuple[float, ...]:
    """1, 2 and 5 in every decade; only the powers of ten where that would be more than seven."""
    fine = [m * 10.0**e for e in range(-3, 16) for m in (1, 2, 5) if low * 0.999 <= m * 10.0**e <= high * 1.001]
    coarse = [t for t in fine if abs(math.log10(t) - round(math.log10(t))) < 1e-9]
    return tuple(fine if len(fine) <= 7 else coarse)
