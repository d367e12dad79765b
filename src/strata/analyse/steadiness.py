"""A cell over its time: the intervals of its rounds in, `Steadiness` and `Tail` out."""

from __future__ import annotations

import numpy as np

from strata.analyse.rounds import CellRounds
from strata.analyse.series.bins import Bins, bins_of
from strata.analyse.series.change import changes
from strata.analyse.series.episodes import episodes
from strata.analyse.series.longrun import Floats
from strata.analyse.stats import estimate
from strata.model import histogram
from strata.model.estimate import Estimate
from strata.model.result import EngineResult
from strata.model.steadiness import Cliff, Episodes, Steadiness, Tail

IOS_A_BIN = 8
"""I/Os that a bin holds at least, in the median: with fewer an empty one says nothing."""
LONGEST_BIN = 0.1
"""Seconds: in longer bins no stall is seen."""
STALL = 3.0
"""Times the median of an I/O's time that nothing must be done for."""
FALL = 0.7
"""A cliff's rate after it, of that before, at most."""
SHORTEST = 5
"""Bins of either level of a cliff at least."""
FAR = 10.0


def steadiness(cell: CellRounds) -> Steadiness | None:
    """None where the intervals are too few or too long, or where it is no closed loop that keeps I/Os outstanding."""
    results = [r.result for r in cell.results if r.result is not None]
    rounds = [(result, bins) for result in results if (bins := bins_of(result.intervals)).size >= 4]
    if not rounds or not cell.workload.saturates:
        return None
    by = _by([bins for _, bins in rounds])
    bin_s = by * rounds[0][1].seconds
    counts = [_joined(bins.ios, by) for _, bins in rounds]
    if bin_s > LONGEST_BIN or sum(one.sum() for one in counts) == 0:
        return None
    found = episodes(counts, bin_s)
    stalls, slow = _told(cell, found)
    plain = cell.workload.rw.carries and (found is None or found.count <= len(counts))
    return Steadiness(
        bin_s=bin_s,
        bins=sum(one.size for one in counts),
        spread=float(np.mean([np.std(one) / one.mean() for one in counts if one.mean() > 0])),
        drift=_drift(counts),
        stalls=stalls,
        slow=slow,
        cliff=_cliff(rounds) if plain else None,
    )


def _by(rounds: list[Bins]) -> int:
    """How many neighbours make a bin that holds enough."""
    busy = float(np.quantile(np.concatenate([bins.ios for bins in rounds]), 0.8))
    return max(1, int(np.ceil(IOS_A_BIN / max(busy, 1e-9)))) if busy > 0 else 1


def _joined(values: Floats, by: int) -> Floats:
    whole = values.size // by
    made: Floats = values[: whole * by].reshape(whole, by).sum(axis=1)
    return made


def _told(cell: CellRounds, found: Episodes | None) -> tuple[Episodes | None, Episodes | None]:
    """As stalls or as slow phases; neither where so short a pause is in the nature of these I/Os."""
    if found is None or found.factor is not None:
        return None, found
    (median,) = histogram.quantiles(cell.merged, [0.5]) if cell.merged else (0,)
    return (found, None) if found.length_s * 1e9 >= STALL * median else (None, None)


def _drift(rounds: list[Floats]) -> Estimate | None:
    thirds = [(one[: one.size // 3].mean(), one[-(one.size // 3) :].mean()) for one in rounds if one.size >= 6]
    ratios = [float(b / a) for a, b in thirds if a > 0 and b > 0]
    return estimate(ratios, "ratio") if ratios else None


def _cliff(rounds: list[tuple[EngineResult, Bins]]) -> Cliff | None:
    """Where the rate of writing falls once and stays there, in half of the rounds at least."""
    found = [one for result, bins in rounds if (one := _fall(result, bins)) is not None]
    if 2 * len(found) < len(rounds) or not found:
        return None
    written, before, after, at = (float(np.median(values)) for values in zip(*found, strict=True))
    return Cliff(written=written, before=before, after=after, at_s=at, rounds=len(found))


def _fall(result: EngineResult, bins: Bins) -> tuple[float, float, float, float] | None:
    """(bytes written before, rate before, rate after, seconds from the end of the ramp)."""
    written = np.array([float(i.write.bytes) for i in result.intervals][: bins.size])
    if result.write.bytes <= result.read.bytes or written.size < 2 * SHORTEST:
        return None
    places = changes(written, bins.seconds, SHORTEST)
    if len(places) != 1:
        return None
    at = places[0]
    before, after = (float(part.mean()) / bins.seconds for part in (written[:at], written[at:]))
    # Where nothing is written any more nothing drains: who should take it stands still.
    if not 0 < after <= FALL * before:
        return None
    return float(written[:at].sum()) + before * result.ramp_ns / 1e9, before, after, at * bins.seconds


def tail(cell: CellRounds) -> Tail | None:
    """Of all I/Os of all rounds; None without a distribution."""
    values, counts = histogram.decode(cell.merged) if cell.merged else ((), ())
    if not values:
        return None
    times, ios = np.asarray(values, dtype=float), np.asarray(counts, dtype=float)
    reached, total = np.cumsum(ios), float(ios.sum())
    (median,) = histogram.quantiles(cell.merged, [0.5]) if cell.merged else (0,)
    middle = max(float(median), 1.0)
    beyond = np.clip(reached - 0.99 * total, 0.0, ios)
    far = times > FAR * middle
    slow = float(ios[far].sum())
    latency = {p: [v.latency_ns[p] for v in cell.values if p in v.latency_ns] for p in ("99", "99.9")}
    shares = {p: float(np.median(found)) / middle if found else None for p, found in latency.items()}
    whole = float(times @ ios)
    return Tail(
        p99=shares["99"],
        p999=shares["99.9"],
        most=float(times[-1]) / middle,
        slowest_share=float(times @ beyond) / whole,
        far_ios=slow / total,
        far_time=float(times[far] @ ios[far]) / whole,
        far_ns=float(times[far][np.searchsorted(np.cumsum(ios[far]), slow / 2)]) if slow else None,
    )
