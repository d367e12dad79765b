"""What another tool's output says, as values: cells with their settings and figures, counters, and what was left out.

Figures keep the unit and the rounding they were printed in. What was not printed is absent, never 0.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from strata.model.base import UnixNs, Value, sparse
from strata.model.figures import Figure
from strata.model.series import Series
from strata.model.workload import Workload

SIDES = ("read", "write", "trim", "sync")
"""The directions that a tool may print by themselves."""
COMPLETION = "completion"
"""The clock of times that lack the submission (fio's clat)."""


class Measured(Value):
    """The I/Os of one direction, or of all of them.

    ``figures`` by the keys of `strata.model.figures.KINDS`: ios, bytes, iops, rate, time.mean, time.min, time.max and
    time.p99 and its like. ``deviation``: standard deviations of iops, rate and time. ``histogram``: every time as a
    payload, in ns. ``clock``: what the times lack, where they are not from submission to completion.
    """

    figures: dict[str, Figure]
    deviation: dict[str, Figure] = sparse({})
    histogram: str | None = sparse(None)
    errors: int | None = sparse(None)
    short: int | None = sparse(None)
    clock: str = sparse("")

    def base(self, key: str) -> float | None:
        """The figure in its base unit; None where it was not printed."""
        found = self.figures.get(key)
        return None if found is None or not found.readings else found.base


class ImportedInterval(Value):
    """One interval of a cell: ``start_ns..end_ns`` from its beginning, and what was printed of it by its side."""

    start_ns: int
    end_ns: int
    sides: dict[str, dict[str, float]]
    """By direction the keys of `Measured.figures`, in base units."""


class ImportedCell(Value):
    """One measurement.

    ``line``: where it begins in the source. ``asked``: its settings by the names of `strata.model.workload_options`,
    as far as they are known. ``workload``: the same where they are complete, else ``incomplete`` says why not.
    ``sides`` by direction; ``total`` of all together. ``parts``: the jobs, threads or clients it is the sum of.
    ``approximate``: keys of figures that could not be merged exactly.
    """

    name: str
    line: int
    asked: dict[str, Any] = sparse({})
    workload: Workload | None = sparse(None)
    incomplete: tuple[str, ...] = sparse(())
    words: dict[str, str] = sparse({})
    """Labels: target, I/O engine, host, …"""
    seconds: float | None = sparse(None)
    sides: dict[str, Measured] = sparse({})
    total: Measured | None = sparse(None)
    cpu: dict[str, Figure] = sparse({})
    """CPU time: user, system, busy."""
    points: tuple[ImportedInterval, ...] = sparse(())
    parts: tuple[ImportedCell, ...] = sparse(())
    approximate: tuple[str, ...] = sparse(())
    errors: int | None = sparse(None)
    started_unix_ns: UnixNs | None = sparse(None)


class Imported(Value):
    """One file, understood.

    ``tool`` and ``version``: what wrote it; the version is empty where it does not say. ``notes``: how units and
    versions were inferred. ``left_out``: what was not taken over, and why. ``settings``: run time, ramp and size as
    the tool was asked for them: ``ramp_s``, ``runtime_s``, ``file_bytes``.
    """

    format: str
    tool: str
    version: str = ""
    host: str = sparse("")
    command: str = sparse("")
    system: str = sparse("")
    started_unix_ns: UnixNs | None = sparse(None)
    settings: dict[str, float] = sparse({})
    cells: tuple[ImportedCell, ...] = ()
    counters: tuple[Series, ...] = sparse(())
    notes: tuple[str, ...] = sparse(())
    left_out: tuple[str, ...] = sparse(())


class ImportSource(Value):
    """Where an imported run comes from. ``digest`` is SHA-256 of the whole file; ``member`` its name in an archive."""

    path: str
    digest: str
    bytes: int
    format: str
    tool: str
    version: str = ""
    member: str = sparse("")


class FileOutcome(Value):
    """What became of one file: ``imported``, or ``problem`` says why it was not understood.

    ``member``: its name in the archive ``path``, empty where that is the file itself or a packed one.
    ``run``: its id in the store; None in a dry run, and where ``known_as`` names the run that has the same content.
    """

    path: str
    digest: str = ""
    bytes: int = 0
    imported: Imported | None = None
    problem: str | None = None
    line: int | None = None
    column: int | None = None
    run: str | None = None
    known_as: str | None = None
    not_kept: str | None = None
    member: str = sparse("")

    @property
    def shown(self) -> str:
        """The file for people."""
        return f"{self.path}: {self.member}" if self.member else self.path


class ImportResult(Value):
    """What ``strata import`` did with every file, in the order of their names."""

    schema_version: str = Field(default="strata.import/1", alias="schema")
    files: tuple[FileOutcome, ...]
    dry_run: bool = False

    @property
    def refused(self) -> int:
        """Files that were not understood."""
        return sum(f.problem is not None for f in self.files)
