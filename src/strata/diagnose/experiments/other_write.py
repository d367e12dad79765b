"""Larger writes.

What it changes
    Durable writes of four times the size (or twice), with as many outstanding as before.
What it tells apart
    Where a cache drains, the bytes per second stay the same. A flush that takes one time, whatever it has to write,
    lets as many writes pass as before.
"""

from __future__ import annotations

from strata.diagnose import flushing
from strata.diagnose.case import Case
from strata.diagnose.causes import write_cache_full
from strata.diagnose.expected import SAME, asked, told
from strata.diagnose.flushing import Flushed
from strata.diagnose.opinion import Opinion
from strata.diagnose.variants import MOST_BLOCK, WORDS, reshape
from strata.model.cause import Cause
from strata.model.experiment import Experiment, Metric, Prediction
from strata.model.workload_options import OPTIONS

ABOUT = frozenset({Cause.WRITE_CACHE_FULL})
FACTORS = (4.0, 2.0)
MOST_S = 0.15
"""Until all that are outstanding are drained: much longer, and a short measurement ends before the first of them."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where a cache drains, in the cell whose writes wait the most for their flush."""
    mine = next((o for o in standing if o.cause in ABOUT), None)
    rate = None if mine is None else write_cache_full.drain_rate(case, mine)
    found = None if mine is None or rate is None else flushing.blamed(case, mine)
    if mine is None or rate is None or found is None:
        return None
    for one in sorted(found[1], key=lambda f: (-f.share, f.cell.workload.outstanding)):
        for factor in FACTORS:
            size = one.size * factor
            drained = one.cell.workload.outstanding * size / rate <= MOST_S
            if drained and size <= MOST_BLOCK and OPTIONS["bs"].in_step(size):
                made = _made(mine, one, factor, rate)
                if made is not None:
                    return made
    return None


def _made(mine: Opinion, one: Flushed, factor: float, rate: float) -> Experiment | None:
    """The bytes that it moves now are the least, what drains the most; None where that is as many writes as before."""
    low, high = 1 / factor, rate / (one.size * factor) / one.cell.iops.value
    low, high = low * SAME[0], max(low, high) * SAME[1]
    if high >= SAME[0]:
        return None
    known = told((mine,), {mine.cause: (low, high)}, others=None)
    flush = {"cause": Cause.SLOW_FLUSH.value, "layer": mine.layer, "idle": True, "rival": True}
    as_many = Prediction(metric=Metric.RATIO, low=SAME[0], high=SAME[1], unit="ratio", **flush)
    changes = f"{WORDS[factor]} the block size at the same depth"
    changed = reshape(one.cell.workload, blocks=factor)
    otherwise = "a flush that takes one time lets as many writes pass"
    return asked(one.cell, changes, (*known, as_many), changed=changed, otherwise=otherwise)
