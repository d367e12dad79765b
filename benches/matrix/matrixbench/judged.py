"""A real matrix, and fixed seconds a cell, against their reference."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from matrixbench.real import Truth, shortened
from matrixbench.rows import Row, row_of
from strata.analyse.visit import Visit
from strata.model.matrix import Given, MatrixCell, MatrixResult


def against(
    name: str, plan: str, seconds: float, result: MatrixResult, truth: Sequence[Truth | None], **more: object
) -> Row:  # fmt: skip
    """One matrix: its errors, and in how many cells its interval and that of the reference have both."""
    pairs = [(c.iops, t) for c, t in zip(result.cells, truth, strict=True) if c.iops is not None and t is not None]
    away = [math.log(e.value) - t.level for e, t in pairs]
    inside = [
        abs(a) <= math.hypot(math.log(e.high or e.value) - math.log(e.value), t.half)
        for a, (e, t) in zip(away, pairs, strict=True)
    ]
    return row_of(
        name, plan, seconds, away, coverage=float(np.mean(inside)),
        smoothed=float(np.mean([c.given is Given.SMOOTHED for c in result.cells])),
        reference_half=float(np.median([math.expm1(t.half) for t in truth if t is not None])),
        each=tuple(_told(c, t) for c, t in zip(result.cells, truth, strict=True)), **more,
    )  # fmt: skip


def _told(cell: MatrixCell, truth: Truth | None) -> dict[str, object]:
    """One cell: estimates as value, low and high; the reference as IOPS and half of its interval in logarithms."""
    estimates = {"given": cell.iops, "measured": cell.measured, "smoothed": cell.smoothed}
    told: dict[str, object] = {k: None if e is None else [e.value, e.low, e.high] for k, e in estimates.items()}
    told |= {"pattern": cell.pattern, "bs": cell.bs, "iodepth": cell.iodepth, "takes": cell.given.value}
    told |= {"kink": cell.kink, "moved": cell.moved, "visits": cell.visits, "seconds": cell.seconds}
    return told | {"reference": None if truth is None else [math.exp(truth.level), truth.half]}


def reached(result: MatrixResult) -> float:
    """Share of the cells whose interval is within the asked half-width."""
    return float(
        np.mean([
            c.iops is not None and c.iops.high is not None and c.iops.high / c.iops.value - 1 <= result.ask.target
            for c in result.cells
        ])
    )  # fmt: skip


def fixed_row(name: str, seconds: float, visits: Sequence[Visit | None], truth: Sequence[Truth | None]) -> Row:
    """The first so many seconds of each cell's fixed measurement."""
    found = [(shortened(v, seconds), t) for v, t in zip(visits, truth, strict=True)]
    errors = [x - t.level for x, t in found if x is not None and t is not None]
    return row_of(name, f"fixed {seconds:g} s a cell", len(truth) * seconds, errors)
