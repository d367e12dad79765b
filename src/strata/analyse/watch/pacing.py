"""How a device paces what it completes: how many requests it serves at once, and how long each of them holds a server.

A device that serves c requests at once, in the order in which they came, completes the k-th c completions after it
began the one before it on the same server: while requests wait, the times between a completion and the c-th after it
are its service time, and hardly vary (a multi-server queue, first come first served; Gross and Harris, chapter 2).
With any other lag they do. So the lag whose times vary least is the number of servers, and their median the service
time. A cap paces single completions (lag 1) closer together than any request takes. Where no lag stands out, the
times themselves vary, and nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from strata.model.estimate import Estimate
from strata.model.watch import Requests

LAGS = 64
FEWEST, FEW = 100, 20
"""Requests in which a lag is looked for, and in which a single pace is seen if it is twice as regular."""
REGULAR = 0.12
"""Spread (interquartile range ÷ median) of the times at the lag from which on it is a pace."""
STANDS_OUT = 2.0
"""A neighbouring lag varies at least so many times as much; of lag 1 the double lag may vary as little."""
SCHEDULED, LATE, ALIKE = 16, 0.6, 1.5
"""Lags at which a clock is looked for; of the time between two completions at most so much late; and the times at all
lags vary by no more than so many times the least."""
OTHER_SIZE, OTHERS = 1.4, 0.1
"""A size that is so many times another one, and the share of requests of such sizes that tells anything."""
PARTS_US, FEWEST_TOGETHER = 100.0, 50
"""Between parts of one request less than this; requests of which a share is told."""
PARTS, RESTS = 0.4, 0.1
"""Of the completions, with another request behind them, and of the time, without any: where parts of requests are
served one after the other."""
MEDIAN = 1.96 * 1.2533 / 1.349
"""Half an interval of 95 % of a median of n, in interquartile ranges ÷ √n."""
WAITS = 0.8
"""Of the completions: so many had requests waiting behind them, else there is no pace to see."""


@dataclass(frozen=True)
class Pace:
    """``at_once``: requests that are served at the same time; ``service_ns``: of one; ``spread``: relative.

    ``per_byte``: whether what varies with the size is the time between completions (a limit on bytes); None: nearly
    all requests have one size.
    """

    at_once: int
    service_ns: float
    spread: float
    per_byte: bool | None
    requests: int

    @property
    def service(self) -> Estimate:
        """The time of one with its interval: of a median the standard error is 1.25 σ ÷ √n, and σ is the interquartile
        range ÷ 1.35. Times of several servers overlap, so that of each so many are independent.
        """
        half = MEDIAN * self.spread * self.service_ns / math.sqrt(self.requests / self.at_once)
        low, high = max(0.0, self.service_ns - half), self.service_ns + half
        return Estimate(value=self.service_ns, low=low, high=high, n=self.requests, unit="ns")


@dataclass(frozen=True)
class Alone:
    """Requests that were issued to an idle device: how long they took."""

    count: int
    median_ns: float


def pace(requests: Requests) -> Pace | None:
    """Of a stretch of requests; None where there is none to be seen."""
    issued = np.array(requests.issued_us, dtype=np.float64)
    done = issued + np.array(requests.took_us, dtype=np.float64)
    order = np.argsort(done, kind="stable")
    ends, sizes = done[order], np.array(requests.bytes, dtype=np.float64)[order]
    # The last ones are left by those that were not traced to their end.
    inside = ends <= issued[-1] if issued.size else np.zeros(0, dtype=np.bool_)
    ends, sizes = ends[inside], sizes[inside]
    if ends.size < FEW or not _waited(issued, done, ends):
        return None
    if ends.size < FEWEST:
        low, middle, high = np.percentile(np.diff(ends), (25, 50, 75))
        spread = float((high - low) / middle) if middle > 0 else np.inf
        plain = None if _diverse(sizes) else Pace(1, float(middle) * 1e3, spread, None, int(ends.size))
        return plain if spread <= REGULAR / 2 else None
    if (by_bytes := _by_bytes(ends, sizes)) is not None:
        return by_bytes
    best = _lag(ends) or _schedule(ends)
    if best is None:
        return None
    lag, middle, spread = best
    return Pace(lag, middle * 1e3, spread, False if _diverse(sizes) else None, int(ends.size))


def _waited(issued: NDArray[np.float64], done: NDArray[np.float64], ends: NDArray[np.float64]) -> bool:
    """Whether more than one was under way nearly all the time; or one at least, and often more (parts of one request,
    which come when the one before is done).
    """
    in_flight = np.searchsorted(issued, ends, side="left") - np.arange(1, ends.size + 1)
    if float(np.mean(in_flight >= 1)) >= WAITS:
        return True
    idle = np.maximum(0.0, issued[1:] - np.maximum.accumulate(done)[:-1])
    return bool(np.mean(in_flight >= 1) >= PARTS and idle.sum() <= RESTS * (ends[-1] - issued[0]))


def _lag(ends: NDArray[np.float64]) -> tuple[int, float, float] | None:
    found: dict[int, tuple[float, float, float]] = {}
    for lag in range(1, min(LAGS, ends.size // 8) + 1):
        lowest, low, middle, high, highest = np.percentile(ends[lag:] - ends[:-lag], (10, 25, 50, 75, 90))
        if middle > 0:
            found[lag] = float(middle), float((high - low) / middle), float((highest - lowest) / middle)
    for lag, (middle, spread, wide) in found.items():
        if spread > REGULAR:
            continue
        # A sum of independent times gets regular too: then every lag behind it is, and its neighbours as much. Servers
        # that end together leave most of the neighbouring times alike, but not the outer ones; where single answers
        # come late, it is the other way round.
        around = [found[n] for n in (lag - 1, lag + 1) if n in found]
        outer = all(other[2] >= STANDS_OUT * max(wide, 0.01) for other in around)
        inner = all(other[1] >= STANDS_OUT * max(spread, 0.01) for other in around)
        if lag == 1 or outer or inner:
            return lag, middle, spread
    return None


def _schedule(ends: NDArray[np.float64]) -> tuple[int, float, float] | None:
    """A limit on the rate lets requests through by a clock, however late single ones are told: then the times at all
    lags vary by as much as one, and at long lags by next to nothing of themselves. Times that are independent add up,
    and servers vary less at their own lag.
    """
    if ends.size < 4 * SCHEDULED:
        return None
    parts = [np.percentile(ends[lag:] - ends[:-lag], (25, 50, 75)) for lag in range(1, SCHEDULED + 1)]
    vary = [float(high - low) for low, _, high in parts]
    gap, last = float(parts[0][1]), float(parts[-1][1])
    if gap <= 0 or vary[0] > LATE * gap or max(vary) > ALIKE * max(min(vary), 1e-9):
        return None
    spread = vary[-1] / last
    return (1, last / SCHEDULED, spread) if spread <= REGULAR / 2 else None


def _diverse(sizes: NDArray[np.float64]) -> bool:
    """Whether there are enough requests of another size to tell a limit on bytes from one on requests."""
    other = np.abs(np.log(sizes / np.median(sizes))) > np.log(OTHER_SIZE)
    return float(np.mean(other)) >= OTHERS


def _by_bytes(ends: NDArray[np.float64], sizes: NDArray[np.float64]) -> Pace | None:
    """Whether the time before a completion, or after it, is in proportion to its bytes."""
    if not _diverse(sizes):
        return None
    between = np.diff(ends)
    plain = np.percentile(between, (25, 50, 75))
    without = (plain[2] - plain[0]) / max(plain[1], 1e-9)
    for mine in (sizes[1:], sizes[:-1]):
        low, middle, high = np.percentile(between / mine, (25, 50, 75))
        spread = (high - low) / middle if middle > 0 else np.inf
        if spread <= 2 * REGULAR and without >= 2 * spread:
            return Pace(1, float(middle * mine.mean()) * 1e3, float(spread), True, int(ends.size))
    return None


def alone(stretches: Sequence[Requests]) -> Alone | None:
    """Those that met nobody, over all stretches."""
    found: list[float] = []
    for one in stretches:
        free_at = 0.0 if one.fresh else np.inf
        for issued, took in zip(one.issued_us, one.took_us, strict=True):
            if issued >= free_at:
                found.append(took * 1e3)
            free_at = issued + took if free_at == np.inf else max(free_at, issued + took)
    return Alone(len(found), float(np.median(found))) if found else None


def rested(stretches: Sequence[Requests], ns: float) -> Alone | None:
    """Those that came when the device had had nothing for so long: a limit on the rate lets them through at once."""
    found: list[float] = []
    for one in stretches:
        free_at = -np.inf if one.fresh else np.inf
        for issued, took in zip(one.issued_us, one.took_us, strict=True):
            if issued >= free_at + ns / 1e3:
                found.append(took * 1e3)
            free_at = issued + took if free_at == np.inf else max(free_at, issued + took)
    return Alone(len(found), float(np.median(found))) if found else None


@dataclass(frozen=True)
class Burst:
    """Requests that came at once to an idle device: ``together`` of ``count`` took about as long as the first."""

    count: int
    first_ns: float
    together: int


def burst(stretches: Sequence[Requests]) -> Burst | None:
    """The largest of them. None where no four came so."""
    best: Burst | None = None
    for one in stretches:
        at, free_at = 0, 0.0 if one.fresh else np.inf
        while at < one.count:
            end = at + 1
            while end < one.count and one.issued_us[end] - one.issued_us[at] < 0.1 * one.took_us[at]:
                end += 1
            if end - at >= 4 and one.issued_us[at] >= free_at:
                took = np.array(one.took_us[at:end], dtype=np.float64)
                together = int(np.sum(took <= 1.3 * took.min()))
                if best is None or end - at > best.count:
                    best = Burst(end - at, float(took.min()) * 1e3, together)
            last = max(i + t for i, t in zip(one.issued_us[at:end], one.took_us[at:end], strict=True))
            free_at = last if free_at == np.inf else max(free_at, last)
            at = end
    return best


def together(stretches: Sequence[Requests]) -> float | None:
    """Share of the requests that were issued while an earlier one was under way. Parts of one request come at once, and
    are none of two.
    """
    met = count = 0
    for one in stretches:
        free_at, before = 0.0, -np.inf
        for issued, took in zip(one.issued_us, one.took_us, strict=True):
            if issued - before >= PARTS_US:
                count += 1
                met += issued < free_at
                before = issued
            free_at = max(free_at, issued + took)
    return met / count if count >= FEWEST_TOGETHER else None


def spread_of_times(requests: Requests) -> float:
    """How much the times of the requests differ: 90th ÷ 10th percentile."""
    low, high = np.percentile(requests.took_us, (10, 90))
    return float(high / max(low, 1.0))
