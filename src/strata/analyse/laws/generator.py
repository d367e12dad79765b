"""Headroom of the load generator.

What it claims
    The engine could issue at least twice the IOPS that were measured.
Why it matters
    From half of its ceiling on, the load generator's own cost is part of the figure; from four fifths on, the load
    generator is the limit.
Evidence
    The engine's IOPS on a null endpoint at the same depth and size, measured before everything else.
What rules it out
    Less than half of the ceiling; no known ceiling.
Source
    Strata's own rule; fio and diskspd are limited by one core in the same way.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, RunView, caveat
from strata.model.analysis import Generator

NAME, TITLE, ORDER = "generator", "load generator", 90
SAYS = "the load generator is near its own limit"
OF_NULL = True
NEXT = "Use more threads, larger blocks or a lower depth; else compare only below half of the ceiling."
HEADROOM_CAVEAT, HEADROOM_LIMIT = 0.5, 0.8


def ceiling(generator: Generator | None, key: str) -> float | None:
    """What the engine reaches against nothing at this depth and size; the pattern does not matter to it."""
    if generator is None:
        return None
    if key in generator.iops:
        return generator.iops[key]
    shape = key.partition("-")[2]
    return next((v for k, v in generator.iops.items() if k.partition("-")[2] == shape), None)


def of_run(run: RunView) -> Answers:
    for cell in run.cells:
        top = ceiling(run.generator, cell.workload.key)
        if top is None or top <= 0 or (share := cell.iops.value / top) < HEADROOM_CAVEAT:
            continue
        text = f"{units.count(cell.iops.value)} IOPS are {units.percent(share, 2)} of what the load generator reaches"
        text += " on a null endpoint"
        limit = share >= HEADROOM_LIMIT
        text += ": the load generator is the limit" if limit else ": its own cost is part of the figure"
        yield caveat(text, cell.layer, cell.workload.key)
