"""A block is freed once.

What it claims
    Of the trims that were measured, at least nine in ten had a block to free: the file or the device was not trimmed
    through before the measurement ended.
Why it matters
    A trim of a hole changes nothing: the file system finds no extent, the device an entry of its map that is empty
    already. It is faster than any trim that frees, and the mean of both is the rate of neither.
Evidence
    The bytes that were trimmed in ramp and measurement, and the bytes that there were. In sequence and with
    `--randommap` each block comes once before any comes again; drawn at random, of n blocks n·(1 − e^(−k/n)) were met
    after k trims.
What rules it out
    Fewer repeats than that; every other workload.
Source
    The expected number of distinct draws with replacement (Feller, An Introduction to Probability Theory, volume 1,
    1968, on occupancy problems).
"""

from __future__ import annotations

import math

from strata import units
from strata.analyse.laws.base import Answers, RunView, caveat
from strata.model.access import Once
from strata.model.plan import Segment, clipped
from strata.model.workload import Workload

NAME, TITLE, ORDER = "freed", "blocks freed twice", 185
SAYS = "trims of what was trimmed before"
NEXT = "Use a larger --size, a shorter --runtime and --ramp-time 0s; --randommap meets no block twice."
ONLY_CAVEAT = True
AGAIN = 0.1


def of_run(run: RunView) -> Answers:
    """One for each cell of trims that met too many blocks again."""
    for cell in run.cells:
        w = cell.workload
        whole = Segment(start=0, length=run.plan.file_size, target=0)
        there = float(sum(s.length for s in clipped((whole,), w.range)))
        results = [r.result for r in run.of(cell).results if r.result is not None]
        measured = sum(r.write.bytes for r in results)
        if not w.rw.discards or not there or not measured:
            continue
        before = sum(r.write.bytes * r.ramp_ns / r.measured_ns for r in results if r.measured_ns > 0)
        again = 1 - (_met(w, before + measured, there) - _met(w, before, there)) / measured
        if again > AGAIN:
            share = units.percent(again, 2)
            text = f"{share} of the trims found nothing left to free: there were {units.size(round(there))}"
            yield caveat(text, cell.layer, w.key)


def _met(w: Workload, trimmed: float, there: float) -> float:
    """Bytes of ``there`` that were trimmed at least once."""
    if w.rw.random and not isinstance(w.order, Once):
        return there * -math.expm1(-trimmed / there)
    return min(trimmed, there)
