"""The cells of a run against what they should give: the specification that the stack states, and an earlier run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from strata.analyse.between import History
from strata.analyse.two import Rounds, compare_cells
from strata.model.analysis import CellSummary
from strata.model.estimate import Estimate
from strata.model.reference import Reference, ReferenceSource
from strata.model.stack import Stack

MISSING = 0.15
"""A figure of a data sheet is rounded, and equal runs of a healthy device differ by some per cent."""
RUNS_DIFFER = 0.05
"""What equal runs are taken to differ by where no history says it: a relative standard deviation."""


def specified(stack: Stack, cells: Sequence[CellSummary]) -> tuple[Reference, ...]:
    """Every cell that a specification speaks of."""
    found = []
    for layer in stack.layers:
        mine = {c.workload.key: c for c in cells if c.layer == layer.name}
        for stated in layer.expect.stated([c.workload for c in mine.values()]):
            cell = mine[stated.workload.key]
            found.append(
                Reference(
                    layer=layer.name,
                    workload_key=cell.workload.key,
                    source=ReferenceSource.SPECIFICATION,
                    of=f"expect.{stated.word}",
                    iops=Estimate(value=stated.iops, low=None, high=None, n=1, unit="IOPS"),
                    ratio=_share(cell.iops, stated.iops),
                    allowance=MISSING,
                )
            )
    return tuple(found)


def remembered(
    before: Mapping[str, Rounds], now: Mapping[str, Rounds], run: str, *, history: History, between: float = 0.0
) -> tuple[Reference, ...]:
    """Every cell that an earlier run had at the same place.

    What equal runs differ by is in the interval: learnt from ``history``, else the greater of ``between`` and
    `RUNS_DIFFER`.
    """
    same = {name: rounds for name, rounds in before.items() if name in now and _place(rounds) == _place(now[name])}
    told = compare_cells(same, now, {}, history=history)
    if told.cells and told.between_runs is None:
        told = compare_cells(same, now, {}, between_runs=max(between, RUNS_DIFFER))
    return tuple(
        Reference(
            layer=c.layer,
            workload_key=c.workload_key,
            source=ReferenceSource.BASELINE,
            of=f"run {run}",
            iops=c.a,
            ratio=c.iops,
            allowance=MISSING,
        )
        for c in told.cells
    )


def _place(rounds: Rounds) -> tuple[str, str]:
    return rounds[0].identity, rounds[0].caching


def _share(measured: Estimate, of: float) -> Estimate:
    low, high = (None if end is None else end / of for end in (measured.low, measured.high))
    return Estimate(value=measured.value / of, low=low, high=high, n=measured.n, unit="ratio")
