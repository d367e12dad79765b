"""What each finding takes of all that the findings account for."""

from __future__ import annotations

from collections.abc import Sequence

from strata.diagnose.layers import NamedFinding
from strata.diagnose.sides import CauseSide, on
from strata.model.finding import Finding


def with_shares(named: Sequence[NamedFinding], findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The same with ``share`` and ``own_loss``. Neither is said of what an experiment refuted, nor of a cause that
    costs nothing and makes the figures those of something else."""
    costs = {n.finding.id: n for n in named if n.loss > 0 and n.finding.cause not in on(CauseSide.FIGURES)}
    lost = {f.id: costs[f.id].loss for f in findings if f.stands and f.id in costs}
    whole = sum(lost.values())
    return tuple(
        f.model_copy(update={"share": round(lost[f.id] / whole, 3), "own_loss": costs[f.id].own_loss})
        if f.id in lost
        else f
        for f in findings
    )
