"""The matrix machine on a table with a known truth, and fixed seconds a cell beside it. Virtual time: no clock."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from matrixbench.known import BIN_S, DEPTHS, PATTERNS, SIZES, Floats, Medium, Noise, Storage, truth
from strata.analyse.matrix.starts import Spot
from strata.analyse.visit import visit_from
from strata.run.matrix import Matrix

START_S = 0.15
"""Ramp and start of a visit; what was measured with the real engine stands in the journal."""


def spots() -> list[Spot]:
    """The 280 cells of one layer."""
    return [Spot(0, p, d, s) for p in range(PATTERNS) for d in DEPTHS for s in SIZES]


@dataclass(frozen=True)
class Outcome:
    """Relative errors of every cell, whether its interval holds the truth, and what was foretold."""

    errors: Floats
    raw: Floats
    covered: Floats
    raw_covered: Floats
    smoothed: float
    kinks: int
    spent_s: float
    foretold_median: float
    foretold_p95: float
    visits: int
    ended: str
    foretold_s: float | None
    """For the target in every cell, from the brief visits."""


def matrix(medium: Medium, noise: Noise, budget_s: float, seed: int, target: float = 0.01) -> Outcome:
    """One matrix in ``budget_s`` of virtual time."""
    levels = truth(medium, seed)
    storage = Storage(levels, noise, seed + 1000, medium.counted)
    all_spots = spots()
    writes = [s.pattern in (2, 3, 4) for s in all_spots]
    machine = Matrix(all_spots, writes, list(range(len(all_spots))), budget_s, target, start_s=START_S, seed=seed)
    for batch in (machine.begin, machine.brief):
        for ask in batch():
            machine.took(
                ask.cell,
                visit_from(ask.cell, storage.bins(ask.cell, ask.seconds), BIN_S),
                ask.seconds,
                ask.seconds + START_S,
            )
    while asks := machine.more():
        for ask in asks:
            machine.took(
                ask.cell,
                visit_from(ask.cell, storage.bins(ask.cell, ask.seconds), BIN_S),
                ask.seconds,
                ask.seconds + START_S,
            )
    table = machine.table()
    given = np.array([0.0 if c.level is None else c.level for c in table]) - np.log(levels)
    half = np.array([math.inf if c.half is None else c.half for c in table])
    own = np.array([0.0 if c.own is None else c.own.level for c in table]) - np.log(levels)
    own_half = np.array([math.inf if c.own is None else c.own.half for c in table])
    return Outcome(
        errors=np.abs(np.expm1(given)), raw=np.abs(np.expm1(own)), covered=(np.abs(given) <= half).astype(float),
        raw_covered=(np.abs(own) <= own_half).astype(float),
        smoothed=float(np.mean([c.takes_smoothed for c in table])), kinks=sum(c.kink for c in table),
        spent_s=machine.spent_s, foretold_median=machine.predictions[-1].error_median,
        foretold_p95=machine.predictions[-1].error_p95, visits=len(machine.visits), ended=machine.ended or "",
        foretold_s=machine.predictions[-1].seconds_for_target,
    )  # fmt: skip


def fixed(medium: Medium, noise: Noise, seconds: float, seed: int) -> Floats:
    """Relative errors of so many seconds in every cell, one after another."""
    levels = truth(medium, seed)
    storage = Storage(levels, noise, seed + 2000, medium.counted)
    return np.array([abs(storage.mean(i, seconds) / levels[i] - 1) for i in range(levels.size)])
