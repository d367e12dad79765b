"""A matrix: one table of depths × sizes × patterns at each layer, in a budget of time."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from strata.model.base import Value
from strata.model.estimate import Estimate
from strata.model.noise import PooledNoise
from strata.model.survey import Survey
from strata.model.workload import Workload


class Grid(Value):
    """The axes. ``patterns`` are the names of `Workload.pattern`, sizes in bytes."""

    name: str
    depths: tuple[int, ...]
    sizes: tuple[int, ...]
    patterns: tuple[str, ...]

    @property
    def cells(self) -> int:
        """At one layer."""
        return len(self.depths) * len(self.sizes) * len(self.patterns)


class MatrixAsk(Value):
    """What was asked of a matrix beside its cells. ``target`` is the half-width of a cell's 95 % interval as a share of
    its value at which the cell needs no more time; ``promised``: it is asked of every cell, not only where to stop."""

    grid: Grid
    budget_s: float = Field(gt=0)
    target: float = Field(gt=0, lt=1)
    promised: bool = False


class Known(StrEnum):
    """Where the noise that a prediction uses comes from."""

    ASSUMED = "assumed noise"
    EARLIER = "noise of earlier runs"
    FLOOR = "noise floor"
    BRIEF = "noise of all cells"


class BudgetPrediction(Value):
    """What the budget will bring. Errors are relative, of one cell's value: the median of |error|, the 95th
    percentile over all cells, and the half-width of a typical 95 % interval. ``seconds_for_target`` is what the asked
    half-width takes in every cell (None: no time does), ``seconds_low`` to ``seconds_high`` the range that it lies in
    in 80 of 100 cases (None: more than any time; both None in documents of earlier versions). The errors are without
    smoothing, so that they bound what smoothing will bring."""

    known_from: Known
    noise: PooledNoise
    seconds: float
    seconds_a_cell: float
    error_median: float
    error_p95: float
    half_width: float
    target: float
    seconds_for_target: float | None
    seconds_low: float | None = None
    seconds_high: float | None = None


class Given(StrEnum):
    """Which value of a cell is given."""

    MEASURED = "measured"
    SMOOTHED = "smoothed"
    MISSING = "missing"


class MatrixCell(Value):
    """One cell. ``iops`` is the value that is given; ``measured`` and ``smoothed`` are both, where there are both.

    ``n`` of ``measured`` is its visits. ``seconds`` were measured, ``kink``: the neighbours miss the cell by more
    than both intervals allow; ``moved``: its visits are not of one level; ``generator_bound``: the generator alone is
    hardly faster. ``percentiles_ns``: those that its I/Os carry (`PERCENTILES`), of all visits together; none in
    documents of earlier versions. ``why``: the reason where there is no value.
    """

    layer: str
    workload: Workload
    workload_key: str = Field(default_factory=lambda told: told["workload"].key)
    """With ``layer`` what other documents name the cell by; those of earlier versions lack it."""
    pattern: str
    bs: int
    iodepth: int
    given: Given
    iops: Estimate | None
    measured: Estimate | None
    smoothed: Estimate | None
    visits: int
    seconds: float
    ios: int = 0
    mean_ns: float | None = None
    p99_ns: float | None = None
    percentiles_ns: dict[str, float] = {}
    kink: bool = False
    moved: bool = False
    generator_bound: bool = False
    why: str | None = None

    @property
    def bytes_per_second(self) -> float | None:
        """Of the given value."""
        return None if self.iops is None else self.iops.value * self.bs

    def percentile_ns(self, percentile: str) -> float | None:
        """None where its I/Os do not carry it, or an earlier version did not keep it."""
        return self.percentiles_ns.get(percentile, self.p99_ns if percentile == "99" else None)


class HeldOut(Value):
    """Second visits as a test of the smoothing: each was foretold from the other cells' visits before it (relative
    errors, the visits' own noise in them)."""

    cells: int
    error_median: float
    error_p95: float
    within_interval: float


class MatrixEnd(Value):
    """How the measuring of a matrix went: what its visits do not tell. ``start_s`` as in `MatrixResult`."""

    predictions: tuple[BudgetPrediction, ...]
    seconds: float
    start_s: float
    ended: str
    held_out: HeldOut | None = None


class MatrixResult(Value):
    """A matrix as it was measured. Times in seconds, shares as shares."""

    schema_version: str = Field(default="strata.matrix/1", alias="schema")
    run: str
    where: str
    ask: MatrixAsk
    layers: tuple[str, ...]
    cells: tuple[MatrixCell, ...]
    noise: PooledNoise | None
    predictions: tuple[BudgetPrediction, ...]
    seconds: float
    start_s: float
    """What a visit cost beside its measured time, the ramp in it: the median."""
    ended: str
    reached: bool
    """Whether every cell that the plan did not skip is within the target: one that failed is not."""
    held_out: HeldOut | None = None
    written: int = 0
    remarks: tuple[str, ...] = ()
    environment: dict[str, Any] = {}
    created_unix_ns: int | None = None
    """None in documents of earlier versions, as the two below are empty in them."""
    survey: Survey | None = None
    """What stands under the path; None of a remote endpoint too."""
    repeat: str = ""
    """The command line that measures it again."""

    def cell(self, layer: str, pattern: str, bs: int, iodepth: int) -> MatrixCell | None:
        """None where there is no such cell."""
        at = (layer, pattern, bs, iodepth)
        return next((c for c in self.cells if (c.layer, c.pattern, c.bs, c.iodepth) == at), None)
