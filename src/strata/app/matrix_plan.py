"""The plan of a matrix: its words, its cells, and the machine that carries it out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pydantic import Field

from strata import units
from strata.app.options import Options
from strata.app.until import half_width
from strata.errors import UsageError
from strata.model.axes import MATRICES
from strata.model.base import Value
from strata.model.caching import refusal
from strata.model.endpoint import EndpointKind
from strata.model.matrix import Grid, MatrixAsk
from strata.model.noise import PooledNoise
from strata.model.plan import Cell, Plan, Step
from strata.model.result import CellResult
from strata.model.stack import Stack
from strata.model.workload import Sync, Workload
from strata.plan.matrix import EXAMPLE, PATTERNS, matrix_of, most_written

if TYPE_CHECKING:
    from strata.run.matrix import Matrix

TARGET = 0.01
"""Half-width at which a cell gets no more time, unless another is asked."""
START_S = 0.03
"""What a visit costs beside its time and its ramp, until it is known."""
CLIENTS_START_S = 0.5
"""The same of several clients, which are told an instant."""


class MatrixWords(Value):
    """What the command line asks. ``until``: a half-width that is asked of every cell; None: as narrow as the budget
    makes it, down to `TARGET`. ``sync`` None: writes are write-through. ``clients``: so many load a cell at
    once."""

    matrix: str
    budget_s: float = Field(default=900.0, gt=0)
    until: float | None = Field(default=None, gt=0, lt=1)
    ramp_s: float = Field(default=0.1, ge=0)
    buffered: bool = False
    sync: Sync | None = None
    destructive: str | None = None
    clients: int = Field(default=1, ge=1)


def words_of(
    matrix: str, budget: str | None, until: str | None, ramp: str | None, *, buffered: bool, sync: str | None,
    destructive: str | None = None, clients: int = 1,
) -> MatrixWords:  # fmt: skip
    """From the user's words. Raises `UsageError`."""
    budget_s = units.parse_duration_ns(budget or "15m") / units.NS_PER_S
    if budget_s <= 0:
        raise UsageError("cannot use --budget", budget or "", "it must be greater than 0", "for example --budget 15m")
    if sync is not None and sync not in set(Sync):
        raise UsageError("cannot use --sync", sync, f"it is not one of: {', '.join(Sync)}")
    return MatrixWords(
        matrix=matrix,
        budget_s=budget_s,
        until=None if until is None else half_width(until),
        ramp_s=0.1 if ramp is None else units.parse_duration_ns(ramp) / units.NS_PER_S,
        buffered=buffered,
        sync=None if sync is None else Sync(sync),
        destructive=destructive,
        clients=clients,
    )


def asked_of(words: MatrixWords, options: Options) -> tuple[MatrixAsk, tuple[Workload, ...]]:
    sync = words.sync if words.sync is not None else Sync.NONE if words.buffered else Sync.DSYNC
    grid, workloads = matrix_of(
        words.matrix, direct=not words.buffered, sync=sync, seed=options.seed, read_only=options.read_only
    )
    workloads = tuple(w.model_copy(update={"clients": words.clients}) for w in workloads)
    ask = MatrixAsk(grid=grid, budget_s=words.budget_s, target=words.until or TARGET, promised=words.until is not None)
    return ask, workloads


def matrix_plan(
    stack: Stack, words: MatrixWords, options: Options, run_id: str, size: int, refused: dict[str, str]
) -> Plan:
    """Cells of one workload next to each other, one a layer; the steps are the first visits."""
    ask, workloads = asked_of(words, options)
    read_only = {x.name for x in stack.layers if x.target.kind is EndpointKind.BLOCK and words.destructive is None}
    cells = []
    for w in workloads:
        for layer in stack.layers:
            key = Cell(layer=layer.name, workload=w).key
            why = refused.get(key) or refusal(layer.target, w, read_only=layer.name in read_only)
            cells.append(Cell(layer=layer.name, workload=w, skip=why))
    open_cells = [c for c in cells if c.skip is None]
    too_small = [w.label for w in workloads if 0 < size < 2 * w.bs]
    if too_small:
        least_size = -(-2 * max(w.bs for w in workloads) // units.MIB)
        raise UsageError("the data is too small for", too_small[0], units.size(size), f"--size {max(8, least_size)}m")
    plan = Plan(
        id=run_id,
        stack=stack,
        cells=tuple(cells),
        steps=tuple(
            Step(order=i, round=0, cell=c.key)
            for i, c in enumerate(sorted(open_cells, key=lambda c: c.workload.rw.writes))
        ),
        rounds=1,
        seed=options.seed,
        ramp_s=words.ramp_s,
        runtime_s=words.budget_s / max(1, len(open_cells)),
        interval_s=0.05,
        file_size=size,
        seconds=words.budget_s,
        bytes_written=most_written(
            tuple(c.workload for c in open_cells), len(stack.layers), words.budget_s, size
        ),
        assumed_write_bps=0,
        placement=options.placement,
        matrix=ask,
    )  # fmt: skip
    least = machine_of(plan, None, ()).least_s
    if words.budget_s < least:
        why = f"{len(open_cells)} cells need at least {units.duration(least * units.NS_PER_S)} for one short visit each"
        asked = units.duration(words.budget_s * units.NS_PER_S)
        raise UsageError("the budget is too short:", asked, why, _longer_or_fewer(ask.grid, words.budget_s, least))
    return plan


def _longer_or_fewer(grid: Grid, budget_s: float, least_s: float) -> str:
    """The budget that is enough, and the largest named matrix that fits into the one there is, if there is one."""
    hint = f"--budget {math.ceil(least_s)}s"
    cells = {name: len(depths) * len(sizes) * len(PATTERNS) for name, (depths, sizes) in MATRICES.items()}
    fitting = [name for name, n in cells.items() if n < grid.cells and least_s * n / grid.cells < 0.9 * budget_s]
    if fitting:
        return f"{hint}, or fewer cells: --matrix {max(fitting, key=cells.__getitem__)}"
    return f"{hint}, or fewer cells, {EXAMPLE}"


def machine_of(plan: Plan, earlier: PooledNoise | None, results: tuple[CellResult, ...]) -> Matrix:
    from strata.analyse.matrix.result import spots_of, visits_of
    from strata.run.matrix import Matrix

    ask = plan.matrix
    assert ask is not None, "not a matrix"
    ranks = {w.key: i for i, w in enumerate(plan.workloads)}
    clients = max(w.clients for w in plan.workloads)
    start = plan.ramp_s + START_S + (CLIENTS_START_S if clients > 1 else 0.0)
    spent = sum((r.result.measured_ns + r.result.ramp_ns) / units.NS_PER_S + START_S for r in results if r.result)
    return Matrix(
        spots=spots_of(plan),
        writes=[c.workload.rw.writes for c in plan.cells],
        order=[ranks[c.workload.key] for c in plan.cells],
        budget_s=ask.budget_s,
        target=ask.target,
        start_s=start,
        seed=plan.seed,
        known=earlier,
        left_out=frozenset(i for i, c in enumerate(plan.cells) if c.skip is not None),
        visits=visits_of(plan, results),
        spent_s=spent,
    )
