"""Writing before measuring, until the write rate is steady."""

from __future__ import annotations

from pydantic import Field

from strata.model.base import OfCell, Value


class PreconditionBudget(Value):
    """How long and how much may be written for one workload, in rounds of ``round_s`` seconds."""

    seconds_max: float = Field(gt=0)
    bytes_max: int = Field(gt=0)
    round_s: float = Field(gt=0)


class SteadyWindow(Value):
    """A window of rounds: ``spread`` is (max − min) / mean of the rates, ``slope`` the rise or fall of the fitted line
    over the window / mean (both 0.2 = twenty percent)."""

    spread: float
    slope: float
    steady: bool


class WriteRound(Value):
    """One round as it was written."""

    bytes: int
    seconds: float

    @property
    def bytes_per_second(self) -> float:
        return self.bytes / self.seconds if self.seconds else 0.0


class Preconditioned(OfCell):
    """What preconditioning one workload came to. ``ended``: steady, bytes, time, stopped or failed (see ``error``)."""

    rounds: tuple[WriteRound, ...] = ()
    last: SteadyWindow | None = None
    ended: str
    error: str | None = None

    @property
    def reached(self) -> bool:
        """Whether the rate was steady at the end."""
        return self.ended == "steady"

    @property
    def bytes_written(self) -> int:
        """Over all rounds."""
        return sum(r.bytes for r in self.rounds)

    @property
    def seconds(self) -> float:
        """Over all rounds."""
        return sum(r.seconds for r in self.rounds)
