"""Preconditioning one workload: a pure machine that says what to write next, and the thin loop that has it written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from strata.errors import SafetyRefusal, StrataError
from strata.model.plan import Cell
from strata.model.precondition import PreconditionBudget, Preconditioned, SteadyWindow, WriteRound

WINDOW = 5
SPREAD_MAX = 0.20
SLOPE_MAX = 0.10


def steadiness(rates: Sequence[float]) -> SteadyWindow | None:
    """Of the last `WINDOW` rates of rounds (any unit); None while there are fewer, or where nothing was written.

    Source: SNIA Solid State Storage Performance Test Specification 2.0.2 (2020), "Steady State" and "Measurement
    Window": over a window of five rounds, max − min is at most 20 % of the average, and the best-fit line's own max −
    min is at most 10 % of it. Its rounds last a minute; shorter ones (as here) see less. What it cannot tell: a plateau
    inside a write cache is steady too. Only more bytes than the cache holds end that, so the bytes written are kept
    with the answer.
    """
    window = rates[-WINDOW:]
    if len(window) < WINDOW or (mean := sum(window) / WINDOW) <= 0:
        return None
    middle = (WINDOW - 1) / 2
    # Least squares on 0..4; the line's excursion over the window is its slope times four.
    rise = sum((x - middle) * (y - mean) for x, y in enumerate(window))
    slope = rise / sum((x - middle) ** 2 for x in range(WINDOW)) * (WINDOW - 1) / mean
    spread = (max(window) - min(window)) / mean
    return SteadyWindow(spread=spread, slope=slope, steady=spread <= SPREAD_MAX and abs(slope) <= SLOPE_MAX)


@dataclass(frozen=True, slots=True)
class Write:
    """Write for ``seconds``, at most ``bytes_max``. ``number`` counts rounds from 0; answer with `Wrote` or `Lost`."""

    number: int
    seconds: float
    bytes_max: int


@dataclass(frozen=True, slots=True)
class Wrote:
    """The round asked for, as it was written. ``cut``: somebody stopped it before its time."""

    round: WriteRound
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """The round asked for could not be written."""

    error: str


class Preconditioner:
    """`begin` gives the first instruction, `handle` the next one or what it came to."""

    def __init__(self, cell: Cell, budget: PreconditionBudget) -> None:
        self._cell, self._budget = cell, budget
        self._rounds: list[WriteRound] = []
        self._last: SteadyWindow | None = None

    def begin(self) -> Write:
        """The first round."""
        return self._next()

    def handle(self, event: Wrote | Lost) -> Write | Preconditioned:
        """What to do now."""
        if isinstance(event, Lost):
            return self._over("failed", event.error)
        if event.round.bytes == 0 and not event.cut:
            return self._over("failed", f"nothing was written in {event.round.seconds:.3g} s")
        self._rounds.append(event.round)
        if event.cut:
            return self._over("stopped")
        self._last = steadiness([r.bytes_per_second for r in self._rounds])
        if self._last is not None and self._last.steady:
            return self._over("steady")
        if self._left() < 1:
            return self._over("bytes")
        # A round ends a little after its time; half a round too long is nearer to the budget than half too short.
        if sum(r.seconds for r in self._rounds) > self._budget.seconds_max - self._budget.round_s / 2:
            return self._over("time")
        return self._next()

    def _left(self) -> int:
        return self._budget.bytes_max - sum(r.bytes for r in self._rounds)

    def _next(self) -> Write:
        return Write(number=len(self._rounds), seconds=self._budget.round_s, bytes_max=self._left())

    def _over(self, ended: str, error: str | None = None) -> Preconditioned:
        return Preconditioned(
            layer=self._cell.layer,
            workload_key=self._cell.workload.key,
            rounds=tuple(self._rounds),
            last=self._last,
            ended=ended,
            error=error,
        )


def precondition(cell: Cell, budget: PreconditionBudget, write: Callable[[Write], Wrote]) -> Preconditioned:
    """Have rounds written until the rate is steady or the budget is used up.

    A `StrataError` or `OSError` of ``write`` ends it as failed, a `SafetyRefusal` is raised: what must not be written
    to must not be measured either.
    """
    machine = Preconditioner(cell, budget)
    said: Write | Preconditioned = machine.begin()
    while isinstance(said, Write):
        try:
            event: Wrote | Lost = write(said)
        except SafetyRefusal:
            raise
        except StrataError as e:
            event = Lost(e.headline)
        except OSError as e:
            event = Lost(str(e) or type(e).__name__)
        said = machine.handle(event)
    return said
