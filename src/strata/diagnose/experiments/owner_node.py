"""The same workload on the node that owns the data.

What it changes
    It runs on the same kind of layer on another node, on the owner where the stack says which node that is.
What it tells apart
    A redirected path is faster there by a fifth or more. A limit that both nodes share stays the same: the medium, its
    caps, the copies. A wire on the path from this node is not used there, so its causes agree with any result.
"""

from __future__ import annotations

from strata.diagnose.case import Case
from strata.diagnose.expected import MOST, SAME, Range
from strata.diagnose.opinion import Opinion
from strata.diagnose.other_paths import asked_there
from strata.diagnose.sides import CauseSide, on
from strata.model.cause import Cause
from strata.model.experiment import Experiment

ABOUT = frozenset({Cause.REDIRECTED})
OF_A_NODE = frozenset({Cause.PROCESSORS, Cause.QUOTA, Cause.SINGLE_THREAD, Cause.PER_REQUEST_COST})
"""Causes of which the other node may be free, as of those on the path: of its CPUs and servers."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where a redirected path stands and the same kind of layer was measured on another node."""
    free: dict[Cause, Range] = dict.fromkeys(on(CauseSide.PATH) | OF_A_NODE, (SAME[0], MOST))
    why = "with a limit that both nodes share the IOPS stay the same"
    return asked_there(case, standing, ABOUT, lambda one, blamed: one.node != blamed.node, free, why, node_owns=True)
