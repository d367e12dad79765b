"""Which cells are measured again, once all of them were looked at: those that cannot be told and matter.

A comparison is worth a further round of both its cells where its interval lies on both sides of the line, and either
reaches down to a loss that is worth naming (`AT_STAKE`), or has its best estimate below the line: then nobody may call
the layers equal either. So is one that lies below the line by itself, where chance may put one there among so many.
What is known to be slow, or to be as fast as it should be, is not measured again, nor what a cell of this length cannot
tell however often.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable

from strata.model.analysis import Comparison, Equivalence
from strata.model.plan import Plan, Step
from strata.plan.order import interleave

ROUNDS_MOST, ROUNDS_LAST = 6, 12
"""Of one cell; the second where nothing else is left to be tried. From two to six rounds an interval becomes about half
as wide; the next six take a third of that."""
AT_STAKE = 1 / 1.25
"""A loss is looked for from a factor of 1.25 on."""


def further_round(
    plan: Plan,
    comparisons: Iterable[Comparison],
    seconds: float,
    first: int = 0,
    doubted: Iterable[Comparison] = (),
    most: int = ROUNDS_MOST,
) -> tuple[Step, ...]:
    """One more round of the cells that need it, as many as fit into ``seconds``: those that are doubted first, then the
    others in their order.

    Their orders count on from those of ``plan``, and from ``first`` where that is later: experiments of a run that was
    stopped in them have taken some. Empty where none needs it, or none fits. ``doubted``: those that are slow by
    themselves, and by chance as it may be. ``most``: rounds of one cell.
    """
    asked = [*(c for c in doubted if not c.unserved), *(c for c in comparisons if matters(c))]
    had = Counter(step.cell for step in plan.steps)
    chosen: set[str] = set()
    for one in asked:
        both = {f"{one.layer}/{one.workload_key}", f"{one.below}/{one.workload_key}"}
        if max(had[key] for key in both) < most and len(chosen | both) * plan.step_s <= seconds:
            chosen |= both
    return _interleaved(plan, chosen, first)


def matters(one: Comparison) -> bool:
    """Whether it cannot be told, and a further round could change what is said."""
    if one.verdict is not Equivalence.CANNOT_TELL or one.unserved:
        return False
    low = one.iops.low
    return low is None or low < AT_STAKE or one.iops.value < one.line


def _interleaved(plan: Plan, chosen: Collection[str], first: int) -> tuple[Step, ...]:
    """Layers of one workload stand together, as in the rounds before: ratios are formed within a round."""
    if not chosen:
        return ()
    number = plan.rounds_most
    cells = [cell for cell in plan.cells if cell.key in chosen]
    drawn = interleave(cells, 1, random.Random(f"{plan.seed}:{number}").getrandbits(32))
    first = max(first, 1 + max((s.order for s in plan.steps), default=-1))
    return tuple(s.model_copy(update={"order": first + i, "round": number}) for i, s in enumerate(drawn))
