"""The load generator is the limit.

What it claims
    The figures show the load generator, not the storage.
Why it matters
    All layers then look alike, and all of them look too slow.
Evidence it needs
    Operational: at least 80 % of the IOPS that the load generator reaches on a null endpoint at the same depth and
    size; or its own control group used up a quota of CPU time in at least half of the periods (then the ceiling,
    measured under the same quota, says nothing). Differential: the layers agree there (each is as fast as the load
    generator).
What rules it out
    Headroom: less than 80 % of the ceiling.
What to do next
    A release build, more requests per submit, more threads, a larger quota, a machine with more cores.
How sure
    By how close the figures are to the ceiling.
Example
    190 000 IOPS on the file system and 200 000 on a null endpoint.
Source
    Talpey, SMB3 application workload performance (SNIA Storage Developer Conference): the load generator's own cost
    is not the storage's.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from strata import units
from strata.analyse.laws.generator import HEADROOM_LIMIT, ceiling
from strata.diagnose.evidence import operational
from strata.model.analysis import Analysis, CellSummary
from strata.model.finding import Cause, Evidence
from strata.model.resources import Quota

CAUSE = Cause.GENERATOR
SIDES = ("full", "path", "figures")
HELD_BACK = 0.5


def shares(analysis: Analysis, cells: Iterable[CellSummary]) -> list[tuple[CellSummary, float]]:
    """(cell, its share of the null ceiling) where a ceiling is known."""
    found = []
    for cell in cells:
        best = ceiling(analysis.generator, cell.workload.key)
        if best:
            found.append((cell, cell.iops.value / best))
    return found


def starved(cells: Iterable[CellSummary]) -> tuple[Quota, float] | None:
    """The generator's own group and how often it was held back (median of the cells), where that is half or more."""
    own = [next((q for q in cell.resources.quotas if q.own), None) for cell in cells]
    share = float(np.median([0.0 if q is None else q.share for q in own])) if own else 0.0
    worst = max((q for q in own if q is not None), key=lambda q: q.share, default=None)
    return (worst, share) if worst is not None and share >= HELD_BACK else None


def limits(analysis: Analysis, cells: Iterable[CellSummary]) -> bool:
    """Whether the generator is the limit in at least half of these cells."""
    cells = tuple(cells)
    if starved(cells) is not None:
        return True
    known = shares(analysis, cells)
    return bool(known) and float(np.median([s for _, s in known])) >= HEADROOM_LIMIT


def observation(analysis: Analysis, cells: Iterable[CellSummary]) -> Evidence | None:
    """How much of its ceiling the generator gave, at the busiest of these cells, or that its quota is used up."""
    cells = tuple(cells)
    if (held := starved(cells)) is not None:
        return operational(
            f"Strata's control group {held[0].group} was throttled by its CPU quota in "
            f"{units.percent(held[1], 2)} of the periods (median of {units.plural(len(cells), 'workload')})",
            cells,
        )
    known = shares(analysis, cells)
    if not known:
        return None
    cell, share = max(known, key=lambda one: one[1])
    return operational(
        f"{cell.layer}, {cell.workload.label}: {units.count(cell.iops.value)} IOPS are "
        f"{units.percent(share, 2)} of what the load generator reaches on a null endpoint",
        [cell],
    )


def headroom(analysis: Analysis, cells: Iterable[CellSummary]) -> str | None:
    """How many times these IOPS the generator could give, at the busiest of the cells; None without a ceiling."""
    known = shares(analysis, cells)
    top = max((share for _, share in known), default=0.0)
    if top <= 0:
        return None
    times = units.significant(1 / top, 2) if top > 0.01 else units.count(float(f"{1 / top:.2g}"))
    return f"on a null endpoint it reaches {times} times these IOPS"
