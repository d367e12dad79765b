"""What will be run, before it is run."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from pydantic import ConfigDict, Field

from strata import units
from strata.model.access import ByteRange
from strata.model.base import RunId, Value, sparse
from strata.model.matrix import MatrixAsk
from strata.model.placement import Placement
from strata.model.precondition import PreconditionBudget
from strata.model.profile import Profile
from strata.model.scale import ScaleAsk
from strata.model.stack import Stack
from strata.model.workload import Workload


class Cell(Value):
    """One workload at one layer. ``skip`` says why it cannot be measured there (a raw device is not written to)."""

    layer: str
    workload: Workload
    skip: str | None = None
    at: tuple[str, int] | None = sparse(None)
    """(axis, value) of a sweep that lets something else grow than the workload."""

    @property
    def key(self) -> str:
        """``<layer>/<workload key>``, unique within a plan."""
        beside = "" if self.at is None else f"@{self.at[0]}={self.at[1]}"
        return f"{self.layer}/{self.workload.key}{beside}"


def round_words(number: int) -> str:
    """``round 1`` for the first, which is 0 in every document: people count from one."""
    return f"round {number + 1}"


class StepKind(StrEnum):
    """Why a step is run."""

    MEASURE = "measure"
    CONFIRM = "confirm"
    TRACE = "trace"


class Step(Value):
    """One cell in one round. ``order`` counts from 0 over the whole plan; it is the order of execution."""

    order: int
    round: int
    cell: str
    kind: StepKind = StepKind.MEASURE
    experiment: str = sparse("")
    """Of which experiment it is, by `Experiment.label`."""
    changed: bool = sparse(False)
    """Whether it is that experiment's changed cell, and not its reference."""


HEAD = units.MIB
"""Where the measured range of a test file starts: far enough for its mark, and aligned for every block size in use."""


class Segment(Value):
    """Logical bytes ``start..start+length`` of the data are found at ``target`` of the endpoint."""

    start: int
    length: int
    target: int


def clipped(segments: Sequence[Segment], piece: ByteRange | None) -> tuple[Segment, ...]:
    """What of the segments lies in this piece of the logical bytes; all of them without one."""
    if piece is None:
        return tuple(segments)
    found = []
    for s in segments:
        first, last = max(s.start, piece.start), s.start + s.length
        if piece.length is not None:
            last = min(last, piece.start + piece.length)
        if first < last:
            found.append(Segment(start=first, length=last - first, target=s.target + first - s.start))
    return tuple(found)


class Further(Value):
    """What may follow the steps as their results ask for it: further rounds of some cells, then experiments.

    At most ``seconds`` of it (further rounds take a part of them), which write at most ``bytes_written``. ``detail``:
    whether rounds may be added; a plan whose rounds the user chose has none.
    """

    seconds: float = Field(ge=0)
    bytes_written: int = Field(ge=0)
    detail: bool
    whole_s: float | None = sparse(None)
    """Where the user set no budget: what follows ends so many seconds after the start of the run, as far as it can."""


class PlanBrief(Value):
    """How a plan is measured, without what: its cells and steps are long, and where a plan is read in brief they are
    passed over.

    Times in seconds, sizes in bytes. ``bytes_written`` is an upper estimate from ``assumed_write_bps``,
    the file's own fill and preconditioning included. ``cooldown_s`` is idle time between two steps; ``seconds`` holds
    it, and neither the fill nor preconditioning, whose ends nobody knows. Both hold what ``further`` allows.
    """

    model_config = ConfigDict(extra="ignore")

    schema_version: int = Field(default=1, alias="schema")
    id: RunId
    stack: Stack
    rounds: int
    seed: int
    ramp_s: float
    runtime_s: float
    interval_s: float
    file_size: int
    seconds: float
    bytes_written: int
    assumed_write_bps: float
    placement: Placement | None = None
    cooldown_s: float = 0.0
    precondition: PreconditionBudget | None = None
    profile: Profile | None = sparse(None)
    """Where the workloads come from, and how well they must be served."""
    matrix: MatrixAsk | None = sparse(None)
    """Where the run is a matrix: its steps are the first visits, further ones follow from what was measured."""

    scale: ScaleAsk | None = sparse(None)
    """Where the run is a sweep over one axis: its steps are the ladder, further cells follow from what was measured."""

    further: Further | None = sparse(None)


class Plan(PlanBrief):
    """With its cells, and the shuffled, interleaved order in which their rounds run.

    Steps of a round from ``rounds`` on were added as the results asked for them.
    """

    model_config = ConfigDict(extra="forbid")

    cells: tuple[Cell, ...]
    steps: tuple[Step, ...]

    @property
    def step_s(self) -> float:
        """What one step is taken to last, with all that belongs to it."""
        first = sum(s.round < self.rounds for s in self.steps)
        seconds = self.seconds - (self.further.seconds if self.further else 0.0)
        return seconds / first if first else self.ramp_s + self.runtime_s

    @property
    def rounds_most(self) -> int:
        """Rounds of the cells that were measured most often."""
        return max((s.round + 1 for s in self.steps), default=self.rounds)

    def cell(self, key: str) -> Cell:
        """The cell of that key. Raises `KeyError`."""
        for cell in self.cells:
            if cell.key == key:
                return cell
        raise KeyError(key)

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """The distinct workloads in plan order (the rows of the table)."""
        seen: dict[str, Workload] = {}
        for cell in self.cells:
            seen.setdefault(cell.workload.key, cell.workload)
        return tuple(seen.values())
