"""Two runs compared, as a value."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from strata.model.base import OfCell, Value
from strata.model.estimate import Estimate


class Change(StrEnum):
    """What was shown of a cell of B against the same of A."""

    SLOWER = "slower"
    FASTER = "faster"
    EQUIVALENT = "equivalent"
    CANNOT_TELL = "cannot tell"


class Fairness(StrEnum):
    """What a difference of the environment does to a comparison."""

    SAME = "same"
    CAVEAT = "colours"
    PREVENTS = "prevents"


class EnvironmentField(Value):
    """One field of both environments, in words; None where it was not recorded."""

    name: str
    a: str | None
    b: str | None
    fairness: Fairness


class Side(Value):
    """One of the two runs."""

    run: str
    created_unix_ns: int
    stack: str
    rounds: int


class Shift(Value):
    """One percentile of the service time: B ÷ A with its interval, and by how much it moved (ns, B − A)."""

    percentile: str
    a_ns: float
    b_ns: float
    ratio: Estimate
    moved_ns: Estimate


class Gap(Value):
    """Where the two distributions are furthest apart: within ``at_ns`` so large a share of A, and of B, was done.

    Their difference is the Kolmogorov distance, known to two percent of the I/Os (`strata.model.step_figures.GRID`).
    """

    at_ns: float
    a: float
    b: float


class CellCompared(OfCell):
    """One cell. ``iops`` and the ``shifts`` are B ÷ A; intervals are 95 % for this cell alone.

    ``p_difference`` and ``p_equivalence`` are adjusted for the number of cells (Holm). ``beyond_margin``: also shown
    that the change is larger than the margin. ``between_runs`` is what equal runs of this cell differ by, as it is in
    these intervals; None where it is not known. ``why`` says what kept it from being told.
    """

    label: str
    a: Estimate
    b: Estimate
    iops: Estimate
    p_difference: float | None
    p_equivalence: float | None
    verdict: Change
    beyond_margin: bool = False
    shifts: tuple[Shift, ...] = ()
    gap: Gap | None = None
    caching: tuple[str, str] | None = None
    between_runs: float | None = None
    why: str | None = None


class ComparedRuns(Value):
    """B against A. ``margin`` is the change up to which two cells count as equal; ``between_runs`` the relative
    standard deviation between equal runs that the intervals hold at least, None where it is not known; ``learnt_from``
    so many runs of the store beside the two, None where the user said it; ``noise`` the relative standard deviation
    between rounds of one run, None where no cell has two."""

    schema_version: Literal["strata.compare/1"] = Field(default="strata.compare/1", alias="schema")
    a: Side
    b: Side
    margin: float
    level: float
    between_runs: float | None
    learnt_from: int | None = None
    noise: float | None
    adjustment: str = "Holm"
    environment: tuple[EnvironmentField, ...]
    cells: tuple[CellCompared, ...]
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[Change, int]:
        """How many cells of each verdict."""
        return {change: sum(c.verdict is change for c in self.cells) for change in Change}

    @property
    def differing(self) -> tuple[EnvironmentField, ...]:
        """The fields of the environment that are not the same."""
        return tuple(f for f in self.environment if f.fairness is not Fairness.SAME)
