"""The laws every result is held against: which ones, in which order. Each is one small function.

A law that does not hold gives a `Check`. It is ``impossible`` when the figure cannot be true as it stands;
otherwise it colours the figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from strata.analyse import laws_caching, laws_cell, laws_stack, laws_threads
from strata.analyse.rounds import CellRounds
from strata.model.analysis import CellSummary, Check, Comparison, Generator, NoiseFloor
from strata.model.plan import Plan
from strata.model.run import DataSet


def check_all(
    plan: Plan,
    rounds: Mapping[tuple[str, str], CellRounds],
    cells: Sequence[CellSummary],
    comparisons: Sequence[Comparison],
    noise: NoiseFloor,
    *,
    data: DataSet | None,
    generator: Generator | None,
    devices: bool = True,
) -> tuple[Check, ...]:
    """Everything that did not hold, the impossible first. ``devices``: whether any block device holds the data."""
    found: list[Check | None] = []
    for cell in cells:
        of = rounds[(cell.layer, cell.workload.key)]
        found += [laws_cell.little(cell), laws_cell.rate(cell, of), laws_cell.samples(cell)]
        found += [laws_cell.unsteady(of, noise), laws_cell.generator_headroom(cell, generator)]
        found += [laws_cell.overload(cell, of)]
    found += [laws_cell.errors(of) for of in rounds.values()]
    for of in rounds.values():
        found += [laws_caching.caching(of), laws_threads.threads(of)]
    found += [laws_stack.faster_than_below(plan, c, noise) for c in comparisons]
    found += laws_stack.caches(plan, cells)
    found += laws_stack.identity(plan, data)
    found += [laws_stack.debug_build(rounds.values()), laws_stack.missing_counters(cells, devices)]
    return tuple(sorted((c for c in found if c is not None), key=lambda c: not c.impossible))
