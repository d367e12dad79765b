"""What was measured, and where."""

from __future__ import annotations

import shlex
from enum import StrEnum
from typing import Any

from pydantic import ConfigDict, Field

from strata.model.analysis import Analysis, Generator, Remote
from strata.model.base import CommandLine, RunId, UnixNs, Value, sparse
from strata.model.clock_skew import ClockSkew
from strata.model.finding import Diagnosis
from strata.model.foreign_io import ForeignIo
from strata.model.imported import Imported, ImportSource
from strata.model.matrix import MatrixEnd
from strata.model.noise import PooledNoise
from strata.model.plan import Plan, PlanBrief, Segment
from strata.model.precondition import Preconditioned
from strata.model.result import CellResult
from strata.model.survey import Survey
from strata.model.survey_compared import ComparedSurveys


class RunStatus(StrEnum):
    """Where a run stands in the store."""

    RUNNING = "running"
    STOPPED = "stopped"
    DONE = "done"
    FAILED = "failed"


class Environment(Value):
    """What must be equal for two runs to be compared. ``build`` is that of Strata's compiled part; ``engine`` is what
    generated the load, by name and version: figures of another generator are another measurement."""

    strata_version: str
    build: dict[str, Any]
    python: str
    hostname: str
    kernel: str
    command: CommandLine = ()
    engine: dict[str, Any] = {"name": "native"}

    @property
    def called_again(self) -> str:
        """The command line that repeats it; empty where none is known."""
        return shlex.join(["strata", *self.command[1:]]) if self.command else ""


class DataSet(Value):
    """The data every layer reaches: Strata's own file, its mark, and the bytes of it each layer uses.

    ``segments`` by layer name; all layers use the same logical blocks. ``identity`` by layer name says how it
    was shown that the layer reaches this data.
    """

    path: str
    size: int
    mark: str
    segments: dict[str, tuple[Segment, ...]]
    identity: dict[str, str] = {}
    filled_bytes: int = 0


class NoiseProbe(Value):
    """Equal measurements repeated before anything is compared: one workload at the lowest layer.

    ``between`` is the robust relative standard deviation (1.4826 · MAD / median) of the IOPS of ``repeats`` repeats,
    ``within_bins`` the median over repeats of the relative standard deviation between ``bin_ns`` bins.
    """

    layer: str
    workload_key: str
    repeats: int
    seconds: float
    bin_ns: int
    between: float
    within_bins: float
    iops: float


LABEL_MOST, NOTE_MOST = 64, 2000
"""Characters of a run's name, as of a baseline's, and of its note."""


class Label(Value):
    """What whoever measured called the run, and why it was measured; both may be empty."""

    name: str = Field(default="", max_length=LABEL_MOST)
    note: str = Field(default="", max_length=NOTE_MOST)

    @property
    def words(self) -> tuple[str, ...]:
        """What there is of it."""
        return tuple(filter(None, (self.name, self.note)))


class StageRecord(Value):
    """A layer that was measured before: its runs, the files they came from, when, where, and with what.

    ``clocks``: how far those of counters that were collected beside it are ahead.
    """

    layer: str
    runs: tuple[str, ...]
    sources: tuple[str, ...] = ()
    created_unix_ns: UnixNs
    host: str
    tool: str
    clocks: tuple[ClockSkew, ...] = sparse(())


class RunBrief(Value):
    """Of a run what names it, and all that must be equal for two of them to be compared. Its cells and steps are long,
    and where a run is read in brief they are passed over."""

    model_config = ConfigDict(extra="ignore")

    schema_version: int = Field(default=1, alias="schema")
    id: RunId
    created_unix_ns: UnixNs
    status: RunStatus
    plan: PlanBrief
    environment: Environment
    survey: Survey | None = None
    data: DataSet | None = None
    label: Label = sparse(Label())


class Run(RunBrief):
    """Everything about one run but its cell results."""

    model_config = ConfigDict(extra="forbid")

    plan: Plan
    generator: Generator | None = None
    remotes: tuple[Remote, ...] = ()
    foreign: tuple[ForeignIo, ...] = sparse(())
    """Of every device that is sampled, while nothing of ours reached it: beside the generator's own measurement."""
    noise: NoiseProbe | None = None
    message: str | None = None
    preconditions: tuple[Preconditioned, ...] = ()
    pooled: PooledNoise | None = sparse(None)
    """The noise of this host and device as the run showed it: the prior of later ones at ``pooled_at``."""
    pooled_at: str = sparse("")
    earlier: PooledNoise | None = sparse(None)
    """What earlier runs had shown when this one began."""
    matrix_end: MatrixEnd | None = sparse(None)
    """Of a matrix that was measured to its end, or until somebody stopped it."""
    scale_end: str = sparse("")
    """What ended a sweep."""
    mark: str | None = sparse(None)
    """The uuid in the mark of the one file that a matrix of an endpoint drives: going on takes no other."""

    source: ImportSource | None = sparse(None)
    """Of figures that another tool measured: the file they were read from. ``imported`` is all that it says."""
    imported: Imported | None = sparse(None)
    stages: tuple[StageRecord, ...] = sparse(())
    """Of a stack whose layers were measured before: what each one's figures are."""
    nodes: ComparedSurveys | None = sparse(None)
    """Where nodes drive the layers: in what they differ as machines; None where they do not."""
    stage_of: str | None = sparse(None)
    """The layer that was measured by itself, as one stage of its stack."""


class Report(Value):
    """A run with its results, their analysis and the verdict: all that a report shows.

    ``repeat`` are the command lines that repeat it: (what it is, the command).
    """

    schema_version: str = Field(default="strata.report/1", alias="schema")
    run: Run
    results: tuple[CellResult, ...]
    analysis: Analysis
    diagnosis: Diagnosis
    repeat: tuple[tuple[str, str], ...] = ()
