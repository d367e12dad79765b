"""When a measurement may end: a pure state machine. Intervals in, go on or an `Ending` out.

A run that ends the moment its interval looks narrow ends too often at a lucky moment: 68 to 84 of 100 such intervals
hold the truth. Three things are set against it: the correlation is taken high (`longrun`), each look comes when
the series has grown by `GROWTH` and not at every bin (fewer chances to be lucky), and a regime younger than the
minimum ends nothing.

Where what equal starts differ by forbids the aim however long this one goes on, it ends as soon as its own bins are as
narrow as asked, and says so.
"""

from __future__ import annotations

from strata.analyse.series.bins import bins_of
from strata.analyse.series.mean import mean_of
from strata.analyse.series.prior import NoisePrior
from strata.analyse.series.quantile import quantile_of
from strata.analyse.series.regimes import cut
from strata.analyse.series.steady import steadiness
from strata.model.course import Aim, Ending
from strata.model.result import Interval

GROWTH = 1.2
UNDER_WAY = 2
"""Intervals that are measured before a stop takes hold: the one that runs, and the one in which it was noticed."""


class StoppingRule:
    """One measurement. Give every interval to `add`; the first `Ending` stands, whatever comes after it.

    ``ended`` is None as long as it has to go on. ``half_width``: of the mean as a share of it, at the last look.
    """

    def __init__(self, aim: Aim, prior: NoisePrior | None = None) -> None:
        self._aim, self._prior = aim, prior
        self._forbidden = prior is not None and prior.floor > aim.mean
        self._intervals: list[Interval] = []
        self._bytes = 0
        self._look_at_s = aim.seconds_min
        self.ended: Ending | None = None
        self.half_width: float | None = None

    def add(self, interval: Interval) -> Ending | None:
        """The next interval, whole and in order."""
        if self.ended is not None:
            return self.ended
        self._intervals.append(interval)
        moved = interval.read.bytes + interval.write.bytes
        self._bytes += moved
        seconds = interval.end_ns / 1e9
        if seconds >= self._look_at_s and self._precise():
            self.ended = Ending.STARTS if self._forbidden else Ending.PRECISION
        elif self._aim.bytes_max is not None and self._bytes + UNDER_WAY * moved >= self._aim.bytes_max:
            self.ended = Ending.BYTES
        elif seconds >= self._aim.seconds_max:
            self.ended = Ending.TIME
        return self.ended

    def _precise(self) -> bool:
        aim, bins = self._aim, bins_of(self._intervals)
        self._look_at_s = bins.size * bins.seconds * GROWTH
        last = bins.part(*cut(bins.iops, bins.seconds).pieces[-1])
        if last.size * last.seconds < aim.seconds_min * 0.99:
            return False
        mean, settled = mean_of(last.iops, last.seconds, self._prior), steadiness(last.iops)
        self.half_width = None if mean is None or mean.value <= 0 else mean.half / mean.value
        if mean is None or settled is None or not settled.steady:
            return False
        if (mean.inside if self._forbidden else mean.half) > aim.mean * mean.value:
            return False
        if aim.percentile is None:
            return True
        # The distributions are decoded last: they cost the most.
        tail = quantile_of(last.counts(), aim.percentile)
        half = None if tail is None else tail.half_width
        return tail is not None and half is not None and half <= aim.percentile_within * tail.value
