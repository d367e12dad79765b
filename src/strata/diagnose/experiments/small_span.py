"""The same workload in a small part of the data.

What it changes
    Random reads stay within a part so small that it is read several times during the measurement, and fits into any
    cache.
What it tells apart
    With a cache that is cold or too small they become at least twice as fast. Holes may be anywhere. What is saturated
    stays saturated, and a request that waits a fixed time gains at most the medium's time.
"""

from __future__ import annotations

from strata import units
from strata.diagnose.case import Case
from strata.diagnose.causes import cold_cache
from strata.diagnose.expected import MOST, SAME, Range, asked, at_once, random_read, station_of, told
from strata.diagnose.opinion import Opinion
from strata.model.access import ByteRange
from strata.model.cause import Cause
from strata.model.experiment import Experiment
from strata.model.plan import HEAD

ABOUT = frozenset({Cause.COLD_CACHE})
GAINS = 2.0
LEAST_BLOCKS, MOST_BYTES, WARM_S = 64, 16 * units.MIB, 0.25
"""Blocks of the piece: what is read in ``WARM_S`` as fast as before, so that most of the time goes by behind it."""
RUNTIME_S = 1.5


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where a cold cache stands."""
    found = station_of(case, standing, ABOUT)
    cell = None if found is None else random_read(found[1], found[0])
    if found is None or cell is None or cell.workload.order is not None:
        return None
    if cold_cache.lost(case, found[1]) is not None:
        # By an earlier run: nothing is seen to come from a cache now, and the piece may be larger than what is left.
        return None
    blocks = max(LEAST_BLOCKS, round(cell.iops.value * WARM_S))
    length = min(MOST_BYTES, blocks * cell.workload.bs) // cell.workload.bs * cell.workload.bs
    said: dict[Cause, Range] = {
        Cause.COLD_CACHE: (GAINS, MOST),
        Cause.CACHE_FLATTERS: (SAME[0], MOST),
        Cause.HOLES: (0.5, MOST),
        # Short ways of a head that moves.
        Cause.MEDIUM: (SAME[0], 0.9 * GAINS),
        Cause.SLOW_MEDIUM: (SAME[0], 0.9 * GAINS),
    }
    for opinion in standing:
        if opinion.cause not in said and (left := at_once(case, opinion, cell)) is not None:
            said[opinion.cause] = left
    return asked(
        cell,
        f"the same reads within {units.size(length)}",
        told(standing, said, others=None),
        changed=cell.workload.model_copy(update={"range": ByteRange(start=HEAD, length=length)}),
        runtime_s=RUNTIME_S,
        otherwise="a saturated resource stays saturated",
    )
