"""Preconditioning one workload: when its rate is steady, and the loop that has rounds written until it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from strata.errors import SafetyRefusal, StrataError
from strata.model.plan import Cell
from strata.model.precondition import PreconditionBudget, Preconditioned, SteadyWindow, WriteRound
from strata.run.judge import reason

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
    """Write for ``seconds``, at most ``bytes_max``. ``number`` counts rounds from 0."""

    number: int
    seconds: float
    bytes_max: int


@dataclass(frozen=True, slots=True)
class Wrote:
    """The round asked for, as it was written. ``cut``: somebody stopped it before its time."""

    round: WriteRound
    cut: bool = False


def precondition(cell: Cell, budget: PreconditionBudget, write: Callable[[Write], Wrote]) -> Preconditioned:
    """Have rounds written until the rate is steady or the budget is used up.

    A `StrataError` or `OSError` of ``write`` ends it as failed, a `SafetyRefusal` is raised: what must not be written
    to must not be measured either.
    """
    rounds: list[WriteRound] = []
    ended = error = last = None
    left = budget.bytes_max
    while ended is None:
        try:
            wrote = write(Write(number=len(rounds), seconds=budget.round_s, bytes_max=left))
        except SafetyRefusal:
            raise
        except (StrataError, OSError) as e:
            ended, error = "failed", reason(e)
            break
        done = wrote.round
        if done.bytes == 0 and not wrote.cut:
            ended, error = "failed", f"nothing was written in {done.seconds:.3g} s"
            break
        rounds.append(done)
        left -= done.bytes
        if wrote.cut:
            ended = "stopped"
        elif (last := steadiness([r.bytes_per_second for r in rounds])) is not None and last.steady:
            ended = "steady"
        elif left < 1:
            ended = "bytes"
        # A round ends a little after its time; half a round too long is nearer to the budget than half too short.
        elif sum(r.seconds for r in rounds) > budget.seconds_max - budget.round_s / 2:
            ended = "time"
    return Preconditioned(
        layer=cell.layer, workload_key=cell.workload.key, rounds=tuple(rounds), last=last, ended=ended, error=error
    )
