"""From stored visits to the matrix that is reported: the same whether it was measured now or years ago."""

from __future__ import annotations

import math
from collections.abc import Sequence

from strata.analyse.matrix.starts import Spot
from strata.analyse.matrix.table import Filled, table_of
from strata.analyse.pooled import pooled
from strata.analyse.visit import Visit, visit_of
from strata.model import histogram
from strata.model.analysis import Generator
from strata.model.estimate import Estimate
from strata.model.groups import grouped
from strata.model.matrix import Given, MatrixAsk, MatrixCell
from strata.model.noise import PooledNoise
from strata.model.percentiles import PERCENTILES, supported
from strata.model.plan import Cell, Plan
from strata.model.result import CellResult
from strata.model.workload import Workload

BOUND_SHARE = 0.8
"""Of what the generator does alone: above it a figure is the generator's as much as the storage's."""


def spots_of(plan: Plan) -> list[Spot]:
    """The cells of the plan as places in the tables, in its order."""
    layers = {layer.name: i for i, layer in enumerate(plan.stack.layers)}
    patterns = {w.pattern: i for i, w in enumerate(plan.workloads)}
    return [
        Spot(layers[c.layer], patterns[c.workload.pattern], c.workload.arrival.iodepth, c.workload.bs)
        for c in plan.cells
    ]


def visits_of(plan: Plan, results: Sequence[CellResult]) -> list[Visit]:
    """Every visit that measured something, in the order in which they were made."""
    places = {c.key: i for i, c in enumerate(plan.cells)}
    found = []
    for r in sorted(results, key=lambda r: r.order):
        if r.error is None and r.result is not None:
            visit = visit_of(places[r.cell], r.result.intervals)
            found += [visit] if visit is not None else []
    return found


def cells_of(
    plan: Plan, results: Sequence[CellResult], earlier: PooledNoise | None, generator: Generator | None
) -> tuple[tuple[MatrixCell, ...], PooledNoise | None]:
    """Every cell of the plan in its order, and the noise its interval is made with."""
    visits = visits_of(plan, results)
    noise = pooled(visits, earlier)
    by_cell = grouped((r.cell, r) for r in results)
    table: tuple[Filled, ...] = ()
    if noise is not None:
        table = table_of(spots_of(plan), visits, noise)[0]
    empty = Filled(None, None, kink=False, suspect=False)
    ceilings = {} if generator is None else _ceilings(plan, generator)
    made = tuple(
        _cell(cell, table[i] if table else empty, by_cell.get(cell.key, ()), ceilings.get(_shape(cell.workload)))
        for i, cell in enumerate(plan.cells)
    )
    return made, noise


def within(plan: Plan, cells: Sequence[MatrixCell], ask: MatrixAsk) -> bool:
    """Whether every cell that the plan did not skip has an interval within the target; one that failed has none."""
    asked = [c for planned, c in zip(plan.cells, cells, strict=True) if planned.skip is None]
    # The interval lies around a logarithm: its upper side is the longer one.
    highs = [(c.iops.high, c.iops.value) if c.iops is not None else (None, 1.0) for c in asked]
    return all(high is not None and high / value - 1 <= ask.target * 1.0001 for high, value in highs)


def _shape(w: Workload) -> tuple[str, int]:
    return w.pattern, w.arrival.iodepth


def _ceilings(plan: Plan, generator: Generator) -> dict[tuple[str, int], float]:
    """The generator's IOPS by pattern and depth, of the smallest size: larger blocks are no less work for it."""
    by_size = sorted((w for w in plan.workloads if w.key in generator.iops), key=lambda w: -w.bs)
    return {_shape(w): generator.iops[w.key] for w in by_size}


def _cell(cell: Cell, filled: Filled, results: Sequence[CellResult], ceiling: float | None) -> MatrixCell:
    w, own = cell.workload, filled.own
    done = [r.result for r in results if r.error is None and r.result is not None]
    measured = None if own is None else _estimate(own.level, own.half, own.visits)
    smoothed = None
    if filled.smoothed is not None:
        smoothed = _estimate(filled.smoothed.level, filled.smoothed.half, max(1, own.visits if own else 1))
    given = Given.SMOOTHED if filled.takes_smoothed else Given.MEASURED if measured is not None else Given.MISSING
    value = smoothed if given is Given.SMOOTHED else measured
    ios = sum(r.ops for r in done)
    busy = sum(r.read.service_sum_ns + r.write.service_sum_ns for r in done)
    failed = next((r.error for r in results if r.error), None)
    percentiles = _percentiles([p for r in done for p in (r.read.service_time, r.write.service_time) if p], ios)
    return MatrixCell(
        layer=cell.layer,
        workload=w,
        pattern=w.pattern,
        bs=w.bs,
        iodepth=w.arrival.iodepth,
        given=given,
        iops=value,
        measured=measured,
        smoothed=smoothed,
        visits=0 if own is None else own.visits,
        seconds=0.0 if own is None else own.seconds,
        ios=ios,
        mean_ns=busy / ios if ios else None,
        p99_ns=percentiles.get("99"),
        percentiles_ns=percentiles,
        kink=filled.kink,
        moved=own is not None and own.moved,
        generator_bound=bool(ceiling and measured is not None and measured.value > BOUND_SHARE * ceiling),
        why=cell.skip or (failed if measured is None else None),
    )


def _estimate(level: float, half: float, n: int) -> Estimate:
    value = math.exp(level)
    return Estimate(value=value, low=math.exp(level - half), high=math.exp(level + half), n=n, unit="IOPS")


def _percentiles(payloads: list[str], ios: int) -> dict[str, float]:
    """Of all visits together, those beyond which enough I/Os lie."""
    names = supported(PERCENTILES, ios)
    merged = histogram.merge(payloads) if names else None
    if merged is None:
        return {}
    return dict(zip(names, histogram.quantiles(merged, [float(name) / 100 for name in names]), strict=True))
