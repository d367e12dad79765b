"""What happened to cells over runs, and whether a run may pass, as values."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from strata.model.base import OfCell, Value
from strata.model.compared import EnvironmentField
from strata.model.estimate import Estimate


class HistoryPoint(Value):
    """One run of one cell: its location over the rounds."""

    run: str
    created_unix_ns: int
    iops: float
    p50_ns: float | None
    p99_ns: float | None
    rounds: int


class ChangePoint(Value):
    """From this run on the level is another: ``ratio`` is after ÷ before, ``p`` adjusted for every place looked at.

    ``environment`` are the fields that changed between the last run before and this one; empty where none did.
    """

    index: int
    run: str
    created_unix_ns: int
    ratio: Estimate
    p: float
    environment: tuple[EnvironmentField, ...] = ()


class CellHistory(OfCell):
    """One cell at one place over its runs, the oldest first. ``noise`` is the relative standard deviation between
    runs within a level, None with too few of them."""

    identity: str
    points: tuple[HistoryPoint, ...]
    changes: tuple[ChangePoint, ...] = ()
    noise: float | None = None


class History(Value):
    """What `strata history` prints."""

    schema_version: Literal["strata.history/1"] = Field(default="strata.history/1", alias="schema")
    cells: tuple[CellHistory, ...]


class GateOutcome(StrEnum):
    """What may be said of a cell, or of all, against a baseline."""

    FINE = "fine"
    REGRESSION = "regression"
    TOO_NOISY = "too noisy"


class GateCell(OfCell):
    """One cell. ``noise`` is what equal runs of it differ by (a relative standard deviation); None where the baseline
    has too few runs to show it, and the ratio then has no interval. ``detectable`` is the loss that would be found in
    95 of 100 cases with these runs; ``runs_needed`` how many runs of the candidate would find the asked one, None where
    no number up to the bound would."""

    baseline_iops: float
    candidate_iops: float
    ratio: Estimate
    noise: float | None
    p: float
    detectable: float | None
    runs_needed: int | None
    outcome: GateOutcome


class Gate(Value):
    """The candidate's runs against the baseline in force. ``max_loss`` is the loss of IOPS that has to be found.

    ``missing`` are cells of the baseline that the candidate has no figures of; with any the outcome is never fine.
    """

    schema_version: Literal["strata.gate/1"] = Field(default="strata.gate/1", alias="schema")
    baseline: str
    version: int
    baseline_runs: tuple[str, ...]
    candidate_runs: tuple[str, ...]
    max_loss: float
    outcome: GateOutcome
    why: str
    cells: tuple[GateCell, ...]
    missing: tuple[str, ...] = ()
    environment: tuple[EnvironmentField, ...] = ()
