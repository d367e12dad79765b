"""How evenly the I/Os of a cell were done: stalls, slow phases, drift, a cliff, and the weight of the slowest."""

from __future__ import annotations

from strata.model.base import Value, sparse
from strata.model.estimate import Estimate


class Episodes(Value):
    """Stretches in which clearly less was done than between them, over all rounds of a cell.

    ``share`` of the measured time, ``count`` of them, ``length_s`` of one on average and ``longest_s``. ``factor``: how
    many times slower they are than the time between them; None where nothing was done in them. ``period_s``: from
    the begin of one to the begin of the next, where that is always the same.
    """

    share: float
    count: int
    length_s: float
    longest_s: float
    factor: float | None = None
    period_s: float | None = sparse(None)


class Cliff(Value):
    """The rate fell once and for good: bytes written until then (the ramp's as far as its rate is known), and bytes
    per second before and after. What fills up has about that size and drains at the rate after."""

    written: float
    before: float
    after: float
    at_s: float
    rounds: int
    """In so many of the rounds."""


class Tail(Value):
    """The slowest I/Os of all rounds together; times as multiples of the median.

    ``slowest_share``: of the time of all I/Os, what the slowest hundredth took (0.01 where all are alike).
    ``far``: I/Os that took more than ten times the median: their share of all I/Os and of the time of all I/Os, and the
    median of their times in ns.
    """

    p99: float | None = None
    p999: float | None = None
    most: float
    slowest_share: float
    far_ios: float = 0.0
    far_time: float = 0.0
    far_ns: float | None = sparse(None)


class Steadiness(Value):
    """A closed-loop cell over its time, from the intervals of all its rounds.

    ``bin_s``: seconds of the bins that were looked at, so long that each holds several I/Os. ``spread``: their
    standard deviation as a share of the mean, episodes included. ``drift``: the rate of the last third of a
    measurement ÷ that of the first, over the rounds.
    """

    bin_s: float
    bins: int
    spread: float
    drift: Estimate | None = None
    stalls: Episodes | None = sparse(None)
    """Nothing was done although I/Os were outstanding, for three times the median time of an I/O at least."""
    slow: Episodes | None = sparse(None)
    """Two levels that take turns."""
    cliff: Cliff | None = sparse(None)
