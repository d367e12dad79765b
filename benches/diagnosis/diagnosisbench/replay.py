"""The rules of today on the evidence of then: whole, with truths swapped, with counters taken away."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from diagnosisbench import draw, kept
from diagnosisbench.judge import Judged, judged
from diagnosisbench.kept import Case, verdict_of
from diagnosisbench.split import Split
from strata.diagnose import diagnose
from strata.model.analysis import Analysis, CellSummary
from strata.model.counters.counter import NODE
from strata.model.counters.readings import taken_apart
from strata.model.finding import Diagnosis

WITHHELD_TIMES = 3
"""How often each case is replayed with other counters away."""
SEEN_BY_THE_CLIENT = {
    *("layer", "workload", "rounds", "ios", "iops", "bytes_per_second", "mean_ns", "latency_ns", "curve"),
    *("outstanding", "errors", "flushes", "flush_ns", "timeline", "steadiness", "tail", "counters"),
}
"""What a cell tells without any counter: all other fields are made of counters."""


def diagnosed(case: Case) -> Diagnosis:
    """What is said of it now."""
    assert case.stack is not None and case.analysis is not None
    return diagnose(case.stack, case.analysis, case.tried)


def replayed(cases: Sequence[Case], split: Split) -> list[Judged]:
    """All that count, judged anew. What failed said nothing, whatever could be made of its evidence today."""
    said = ((c, kept.NO_VERDICT if c.failed else verdict_of(diagnosed(c))) for c in cases if c.counts)
    return [judged(case, verdict, split) for case, verdict in said]


def as_said(cases: Sequence[Case], split: Split, since: int = 0) -> list[Judged]:
    """What was said first and live of the trials of frozen rows, by the rules of their day, which had not seen them.

    ``since``: only of rows from this one on.
    """
    firsts = [_first(c) for c in cases if draw.frozen(c.trial.seed, since)]
    return [judged(c, kept.NO_VERDICT if c.failed else c.verdict or kept.NO_VERDICT, split) for c in firsts if c.counts]


def _first(case: Case) -> Case:
    """The case with what came of it when it was measured first."""
    if not case.earlier:
        return case
    return case.model_copy(update={name: getattr(case.earlier[0], name) for name in kept.Earlier.model_fields})


def swapped(cases: Sequence[Judged]) -> list[Judged]:
    """Each with the truth of another: of the next one whose truth is another. What passes so is no test."""
    found = []
    for number, case in enumerate(cases):
        others = [*cases[number + 1 :], *cases[:number]]
        other = next((o for o in others if o.truth.limits != case.truth.limits), case)
        found.append(replace(case, truth=other.truth))
    return found


@dataclass(frozen=True)
class Withheld:
    """A case without some of its evidence, and what is then said. ``away``: what was taken."""

    away: tuple[str, ...]
    judged: Judged

    @property
    def says_what_is_missing(self) -> bool:
        """Whoever does not know says what would tell."""
        return self.judged.decided or bool(self.judged.verdict.missing)


def withheld(cases: Sequence[Case], split: Split, times: int = WITHHELD_TIMES) -> list[Withheld]:
    """Every case that counts, so often with something else away, the same each time."""
    found = []
    for case in (c for c in cases if c.counts and not c.failed):
        for turn in range(times):
            away, less = _without(case, random.Random(case.trial.seed * 100 + turn))
            found.append(Withheld(away, judged(less, verdict_of(diagnosed(less)), split)))
    return found


def _without(case: Case, chance: random.Random) -> tuple[tuple[str, ...], Case]:
    """Without counters of some kinds and some nodes, as without root or without the far node."""
    assert case.analysis is not None
    names = [taken_apart(name) for cell in case.analysis.cells for name in cell.counters]
    kinds = sorted({metric.split("_", 1)[0] for metric, _ in names})
    nodes = sorted({labels[NODE] for _, labels in names if NODE in labels})
    gone_kinds = {kind for kind in kinds if chance.random() < 0.5}
    gone_nodes = {node for node in nodes if chance.random() < 0.5}
    blind = chance.random() < 0.5

    def less(cell: CellSummary) -> CellSummary:
        left = {}
        for name, value in cell.counters.items():
            metric, labels = taken_apart(name)
            if metric.split("_", 1)[0] not in gone_kinds and labels.get(NODE) not in gone_nodes:
                left[name] = value
        changes: dict[str, object] = {"counters": left}
        if blind:
            fields = CellSummary.model_fields.items()
            changes |= {name: field.get_default() for name, field in fields if name not in SEEN_BY_THE_CLIENT}
        return cell.model_copy(update=changes)

    def poorer(analysis: Analysis) -> Analysis:
        changes: dict[str, object] = {"cells": tuple(map(less, analysis.cells))}
        return analysis.model_copy(update=changes | ({"remotes": ()} if blind else {}))

    tried = tuple(t.model_copy(update={"reference": less(t.reference), "changed": less(t.changed)}) for t in case.tried)
    away = (*sorted(gone_kinds), *sorted(gone_nodes), *(("everything derived",) if blind else ()))
    return away, case.model_copy(update={"analysis": poorer(case.analysis), "tried": tried})
