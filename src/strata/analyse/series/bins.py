"""The intervals of one measurement as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.series.longrun import Floats
from strata.analyse.series.quantile import Counts
from strata.model import histogram
from strata.model.result import Interval


@dataclass(frozen=True)
class Bins:
    """Bins of ``seconds`` each on average, ``spans`` one by one: I/Os, bytes and summed service time (ns) of each, and
    their histograms."""

    seconds: float
    spans: Floats
    ios: Floats
    bytes: Floats
    service_ns: Floats
    payloads: tuple[tuple[str, ...], ...]

    @property
    def size(self) -> int:
        """How many."""
        return int(self.ios.size)

    @property
    def iops(self) -> Floats:
        """I/Os per second of each."""
        rates: Floats = self.ios / self.spans
        return rates

    def part(self, start: int, end: int | None = None) -> Bins:
        """Bins ``start`` to before ``end``."""
        cut = slice(start, end)
        rest = (self.ios[cut], self.bytes[cut], self.service_ns[cut], self.payloads[cut])
        return Bins(self.seconds, self.spans[cut], *rest)

    def counts(self) -> list[Counts]:
        """Decoded latency distributions, one a bin."""
        return [histogram.decode(p) if p else ((), ()) for p in (histogram.merge(one) for one in self.payloads)]


def bins_of(intervals: Sequence[Interval]) -> Bins:
    """The whole intervals; a last one shorter than nine tenths of the first is left out."""
    spans = [i.end_ns - i.start_ns for i in intervals]
    whole = [i for i, span in zip(intervals, spans, strict=True) if span > 0 and 10 * span > 9 * spans[0]]
    lengths = np.array([(i.end_ns - i.start_ns) / 1e9 for i in whole])
    return Bins(
        seconds=float(lengths.mean()) if whole else 0.0,
        spans=lengths,
        ios=np.array([float(i.read.ops + i.write.ops) for i in whole]),
        bytes=np.array([float(i.read.bytes + i.write.bytes) for i in whole]),
        service_ns=np.array([float(i.read.service_sum_ns + i.write.service_sum_ns) for i in whole]),
        payloads=tuple(tuple(p for d in (i.read, i.write) if (p := d.service_time) is not None) for i in whole),
    )
