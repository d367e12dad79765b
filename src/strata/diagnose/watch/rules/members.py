"""One member of several: some requests wait long behind their like while all others overtake them.

Evidence: single requests of one direction and nearly one size have two times that lie far apart, both at any moment,
and the slow ones are overtaken by most of what is in flight: they wait in a queue of their own, which one queue for
all does not have. Where members have counters of their own, those say which one it is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from strata import units
from strata.diagnose.watch.claim import Claim, Not
from strata.diagnose.watch.view import LoadView
from strata.model.counters import members
from strata.model.finding import Cause
from strata.model.watch import Requests

APART = 3.0
"""Times as long as the others, the slow requests take at their median."""
LEAST, MOST = 0.06, 0.6
"""Share of the requests that are slow."""
OVERTAKEN = 0.5
"""Of what is in flight, that overtakes a slow request."""
FEWEST = 60
MIXED = 0.35
"""Of the changes between slow and fast that chance would bring in a row of requests: with fewer it is a matter of
when.
"""


def judge(view: LoadView) -> Iterator[Claim | Not | str]:
    """Of the device that the requests enter first."""
    if view.disk is None or view.in_flight is None or view.in_flight < 1.5 or (view.busy or 0.0) < 0.8:
        return
    found = [f for a in view.arrivals if a.requests is not None and (f := _two_kinds(a.requests)) is not None]
    if not found:
        return
    share, slow, fast = (float(np.mean([f[n] for f in found])) for n in range(3))
    name, whose = view.device_name or "", _whose(view)
    yield Claim(
        Cause.SLOW_MEMBER,
        0.85 if whose else 0.78 if len(found) > 1 else 0.65,
        share * slow / (share * slow + (1 - share) * fast),
        f"{units.percent(share, 2)} of the requests at {name} take {slow / fast:.2g} times as long, in a queue of "
        f"their own" + (f": {whose} is slow" if whose else ""),
        f"At any moment some requests take {units.duration(slow * 1e3)} and the others {units.duration(fast * 1e3)}, "
        "and the others overtake them: a part of the device (a member, a path, a region) is slower, and the load "
        "waits for it.",
        "Look at the members below the device: their health, their links, their errors; take the slow one out.",
        (
            f"{name}: {units.percent(share, 2)} of the requests {units.duration(slow * 1e3)}, the others "
            f"{units.duration(fast * 1e3)} (medians)",
        ),
        () if whose else ("which member it is: they have no counters of their own here",),
        what=name,
    )


def _two_kinds(requests: Requests) -> tuple[float, float, float] | None:
    """(share of the slow ones, their median, that of the others) in µs, of the direction with more requests."""
    writes = np.array(requests.writes, dtype=np.bool_)
    mine = writes if writes.mean() > 0.5 else ~writes
    took = np.array(requests.took_us, dtype=np.float64)[mine]
    issued = np.array(requests.issued_us, dtype=np.float64)[mine]
    if took.size < FEWEST:
        return None
    edge = _edge(np.log(np.maximum(took, 1.0)))
    slow = np.log(np.maximum(took, 1.0)) > edge
    share = float(slow.mean())
    if not LEAST <= share <= MOST:
        return None
    high, low = float(np.median(took[slow])), float(np.median(took[~slow]))
    if high < APART * low or not _interleaved(slow) or _overtaken(issued, took, slow) < OVERTAKEN:
        return None
    return share, high, low


def _edge(values: NDArray[np.float64]) -> float:
    """Where the variance between two parts is greatest (Otsu 1979)."""
    ordered = np.sort(values)
    sums, first = np.cumsum(ordered), np.arange(1, ordered.size)
    low = sums[:-1] / first
    high = (sums[-1] - sums[:-1]) / (ordered.size - first)
    at = int(np.argmax(first * (ordered.size - first) * (high - low) ** 2))
    return float(ordered[at] + ordered[at + 1]) / 2


def _interleaved(slow: NDArray[np.bool_]) -> bool:
    """Whether slow and fast ones come at the same time (runs, Wald and Wolfowitz 1940)."""
    share = float(slow.mean())
    changes = float(np.mean(slow[1:] != slow[:-1]))
    return changes >= MIXED * 2 * share * (1 - share)


def _overtaken(issued: NDArray[np.float64], took: NDArray[np.float64], slow: NDArray[np.bool_]) -> float:
    """Of what is in flight, how much overtakes a slow request, in the median."""
    ends = issued + took
    in_flight = np.searchsorted(issued, ends, side="right") - np.arange(1, ends.size + 1)
    inside = np.flatnonzero(slow & (ends < issued[-1]))
    if not inside.size:
        return 0.0
    by = np.array([float(np.mean(ends[i + 1 : i + 1 + max(1, in_flight[i])] < ends[i])) for i in inside])
    return float(np.median(by))


def _whose(view: LoadView) -> str | None:
    """The member whose requests take most of the time of all, by their own counters."""
    told = sorted(view.told.of(members.SECONDS), key=lambda r: -r.value)
    if len(told) < 2 or told[0].value < APART * max(told[1].value, 1e-9):
        return None
    return told[0]["member"]
