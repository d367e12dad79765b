"""How far two clocks are apart, from I/Os that both saw: those of a measurement, and a counter of a device or share.

The course of the measurement (when it began, how much was done, when it ended) is looked for in the course of the
counter, with a piece of rest before and after it. It is found where both have the same shape and the same number of
I/Os, and where no other place looks like it. Nothing is moved without that. The bound is that of the shifts which fit
about as well (a likelihood ratio of two standard deviations), and at least half of the time between two samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from strata.units import NS_PER_S

Array = npt.NDArray[np.floating]
Span = tuple[int, int, float]
"""(begin, end, I/Os per second): ns since the epoch by the measurement's clock."""

SAME_SHAPE = 0.95
"""Share of the counter's variance that the measurement explains where it was found."""
ALIKE = 0.7
"""The same at another place that makes the first one doubtful."""
SAME_IOS = (0.9, 1.12)
"""I/Os that the counter saw for each of the measurement."""
REST = 0.1
"""Of the length of the measurement: what is looked at before and after it, at least `REST_SAMPLES`."""
REST_SAMPLES = 3
SAMPLES_LEAST = 5
"""Of a counter within the measurement."""
GRID_MOST = 200_000
"""Samples of a counter that are looked through; two days of seconds have 172,800."""
FINE = 20
"""Shifts that are tried for each sample."""


@dataclass(frozen=True)
class Seen:
    """A growing number of I/Os at moments of the counters' clock (ns since the epoch)."""

    t_ns: Sequence[int]
    total: Sequence[float]


@dataclass(frozen=True)
class Estimated:
    """The counters' clock is ``seconds`` ahead, give or take ``within_s``; ``by`` this counter."""

    seconds: float
    within_s: float
    by: str


def skew(spans: Sequence[Span], seen: Mapping[str, Seen]) -> Estimated | str:
    """By the counters that saw the same; else why nothing can be said."""
    if not spans or not seen:
        return "no counter of I/Os per second is there" if spans else "it does not say when it ran"
    if any(b[0] < a[1] for a, b in zip(sorted(spans), sorted(spans)[1:], strict=False)):
        return "it does not say when each of its measurements ran"
    found: list[Estimated] = []
    why: dict[str, None] = {}
    for name, one in seen.items():
        match _by_one(spans, name, one):
            case Estimated() as estimate:
                found.append(estimate)
            case str() as reason:
                why[reason] = None
    if not found:
        return "; ".join(why)
    best = min(found, key=lambda e: e.within_s)
    if any(abs(e.seconds - best.seconds) > e.within_s + best.within_s for e in found):
        return "the counters that fit do not agree on one shift"
    return best


def _by_one(spans: Sequence[Span], name: str, seen: Seen) -> Estimated | str:
    t = np.asarray(seen.t_ns, float)
    begin, end = min(s[0] for s in spans), max(s[1] for s in spans)
    steps = np.diff(t)
    steps = steps[steps > 0]
    if len(steps) < SAMPLES_LEAST:
        return "the counters have too few samples"
    step = float(np.median(steps))
    count = int((t[-1] - t[0]) / step)
    rest = max(REST_SAMPLES * step, REST * (end - begin))
    length = round((end - begin + 2 * rest) / step)
    if end - begin < SAMPLES_LEAST * step:
        return "the counters have too few samples in so short a time"
    if count > GRID_MOST:
        return f"the counters have more than {GRID_MOST} samples"
    if count < length + 2:
        return "the counters do not reach over its begin and its end"
    edges = t[0] + step * np.arange(count + 1)
    rates = np.diff(np.interp(edges, t, np.asarray(seen.total, float))) * (NS_PER_S / step)
    course = _Course(spans, begin - rest)
    places = _fits(rates, course.at(step * np.arange(length + 1), step))
    good = (places[1] >= SAME_IOS[0]) & (places[1] <= SAME_IOS[1])
    shapes = np.where(good, places[0], 0.0)
    at = int(np.argmax(shapes))
    if shapes[at] < ALIKE:
        return "the counters saw nothing of its shape and its number of I/Os"
    away = np.abs(np.arange(len(shapes)) - at) * step > (end - begin) / 2
    if np.any(shapes[away] >= ALIKE):
        return "its shape is there more than once"
    shifts = np.arange(-FINE, FINE + 1) / FINE
    low, high = max(0, at - 1), min(count, at + length + 1)
    piece = rates[low:high]
    inside = step * (np.arange(low, high + 1) - at)
    fine = [_fits(piece, course.at(inside - shift * step, step)) for shift in shifts]
    shape, ios = (np.array([float(f[n][0]) for f in fine]) for n in (0, 1))
    best = int(np.argmax(shape))
    if shape[best] < SAME_SHAPE or not SAME_IOS[0] <= ios[best] <= SAME_IOS[1]:
        return "the counters saw nothing of its shape and its number of I/Os"
    allowed = (1 - shape[best]) * (1 + 4 / max(1, len(piece) - 2))
    near = np.concatenate([shifts[1 - shape <= allowed], (np.arange(len(shapes)) - at)[1 - shapes <= allowed]])
    within = max(0.5, float(np.max(np.abs(near - shifts[best]), initial=0.0)))
    ahead = t[0] + (at + shifts[best]) * step - (begin - rest)
    return Estimated(float(ahead) / NS_PER_S, within * step / NS_PER_S, name)


class _Course:
    """The I/Os of the measurement up to a moment after ``origin``."""

    def __init__(self, spans: Sequence[Span], origin: float) -> None:
        moments, totals = [0.0], [0.0]
        for begin, end, rate in sorted(spans):
            moments += [begin - origin, end - origin]
            totals += [totals[-1], totals[-1] + rate * (end - begin)]
        self._moments, self._totals = np.array(moments), np.array(totals)

    def at(self, edges: Array, step: float) -> Array:
        """The rate between each two edges."""
        found: Array = np.diff(np.interp(edges, self._moments, self._totals)) / step
        return found


def _fits(rates: Array, course: Array) -> tuple[Array, Array]:
    """(share of the variance that is explained, I/Os seen for each that was done) at every place."""
    from scipy.signal import correlate

    length = len(course)
    centred = course - course.mean()
    own = float(centred @ centred)
    # Sums over a window that moves, of numbers near 1: they are differences of large sums.
    scale = float(np.abs(rates).max()) or 1.0
    plain = rates / scale
    sums, squares = (np.concatenate([[0.0], np.cumsum(x)]) for x in (plain, plain * plain))
    total, square = sums[length:] - sums[:-length], squares[length:] - squares[:-length]
    varied = np.maximum(square - total * total / length, 1e-12)
    common = correlate(plain, centred, mode="valid")
    if own <= 0:
        return np.zeros_like(common), np.zeros_like(common)
    return np.clip(common, 0, None) ** 2 / (own * varied), common * scale / own
