"""What follows the planned steps: further rounds of the cells that cannot be told, within a bound that is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from strata.model.plan import Further, Plan, Step, StepKind
from strata.model.result import CellResult
from strata.model.run import RunStatus
from strata.model.workload import Workload
from strata.plan.cost import bytes_written
from strata.plan.detail import ROUNDS_LAST, ROUNDS_MOST, further_round
from strata.run.execute import Finish
from strata.run.machine import RunMachine

if TYPE_CHECKING:
    from strata.app.session import Session

DETAIL_SHARE = 1 / 3
"""Of the budget, for further rounds, where experiments follow: what is left names the cause."""
ROUND_SHARE = 1 / 2
"""Of what is left, for each further round: where one shows a loss, the next tells more of it."""
LEAST_SHARE = 0.4
"""Of the budget, however long the first rounds took: a verdict without any experiment is worth less than the time."""


class Budget:
    """The seconds and the bytes that may follow the planned steps, and what is gone of them."""

    def __init__(self, plan: Plan, kept: Iterable[CellResult], elapsed_s: float = 0.0, *, confirm: bool = True) -> None:
        """``kept``: what the store holds, of a resumed run too: its further steps are paid already.

        ``elapsed_s``: since the run began; a plan that is to end by some time has that much less to spend.
        ``confirm``: whether experiments follow; without them all of it is for further rounds.
        """
        self._detail_share = DETAIL_SHARE if confirm else 1.0
        allowed = plan.further or Further(seconds=0.0, bytes_written=0, detail=False)
        if allowed.whole_s is not None:
            left = max(LEAST_SHARE * allowed.seconds, min(allowed.seconds, allowed.whole_s - elapsed_s))
            allowed = allowed.model_copy(update={"seconds": left})
        self._allowed = allowed
        later = [c for c in kept if c.round >= plan.rounds or c.kind == StepKind.CONFIRM.value]
        self._gone_s = len(later) * plan.step_s
        self._written = sum(c.result.write.bytes for c in later if c.result is not None)
        self._since: float | None = None

    @contextmanager
    def spending(self) -> Iterator[None]:
        """While the block lasts the clock runs: what is thought about is paid too."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._gone_s += time.monotonic() - self._since
            self._since = None

    @property
    def seconds_left(self) -> float:
        """Of the budget."""
        now = 0.0 if self._since is None else time.monotonic() - self._since
        return self._allowed.seconds - self._gone_s - now

    @property
    def detail_left(self) -> float:
        """Of it, for further rounds."""
        kept_back = (1 - self._detail_share) * self._allowed.seconds
        return self.seconds_left - kept_back if self._allowed.detail else 0.0

    def wrote(self, result: CellResult) -> None:
        """A further step is over."""
        self._written += result.result.write.bytes if result.result is not None else 0

    def may_write(self, asked: Iterable[tuple[Workload, float, float | None]], plan: Plan) -> bool:
        """Whether all of it together stays within the bytes that were announced: a workload, its seconds, and the bytes
        per second that it wrote so far at most, at that layer; None: not known, the plan's own assumption is taken."""
        most = plan.assumed_write_bps
        writes = (bytes_written(w, s, most if fastest is None else min(most, 2 * fastest)) for w, s, fastest in asked)
        return self._written + sum(writes) <= self._allowed.bytes_written


def fastest_writes(results: Iterable[CellResult]) -> dict[str, float]:
    """Bytes per second written at most, by cell key."""
    found: dict[str, float] = {}
    for one in results:
        if one.result is not None and one.result.measured_ns:
            rate = one.result.write.bytes / one.result.seconds
            found[one.cell] = max(rate, found.get(one.cell, 0.0))
    return found


def add_rounds(session: Session, finished: Callable[[Finish], None]) -> RunStatus:
    """Further rounds until every comparison that matters can be told, or their share of the budget is used.

    ``finished`` is told how each of them ended. Each is a part of the plan before it is measured, so that a run that
    is stopped in it goes on there.
    """
    budget = session.budget()
    with budget.spending():
        while steps := _next_round(session, budget.detail_left, ROUNDS_MOST):
            if _measured(session, steps, finished) is RunStatus.STOPPED:
                return RunStatus.STOPPED
    return RunStatus.DONE


def last_round(session: Session, finished: Callable[[Finish], None]) -> RunStatus | None:
    """One more in the time for experiments, and of cells that have had their rounds, too: what it shows may ask for
    one. None where nothing is left to be told."""
    plan, budget = session.running().plan, session.budget()
    if plan.further is None or not plan.further.detail:
        return None
    steps = _next_round(session, budget.seconds_left, ROUNDS_LAST)
    return _measured(session, steps, finished) if steps else None


def _next_round(session: Session, seconds: float, most: int) -> tuple[Step, ...]:
    """In a part of ``seconds``, and in the plan of the run already; empty where nothing is left to be told, or no time
    for it."""
    # Numerical libraries take longer to load than a cell: after the first rounds.
    from strata.analyse import compared
    from strata.analyse.overall import doubted, likeliest

    run, budget = session.running(), session.budget()
    kept, plan = session.cells(), run.plan
    found = compared(plan, kept, run.noise, run.earlier)
    # One pair of cells as long as there is time for it.
    seconds = max(ROUND_SHARE * seconds, min(seconds, 2 * plan.step_s))
    steps = further_round(plan, likeliest(found), seconds, session.next_order(), doubted(found), most)
    fastest = fastest_writes(kept)
    span = plan.ramp_s + plan.runtime_s
    if not budget.may_write([(plan.cell(s.cell).workload, span, fastest.get(s.cell)) for s in steps], plan):
        steps = tuple(s for s in steps if not plan.cell(s.cell).workload.rw.writes)
    if steps:
        session.keep(plan=plan.model_copy(update={"steps": (*plan.steps, *steps)}))
    return steps


def _measured(session: Session, steps: tuple[Step, ...], finished: Callable[[Finish], None]) -> RunStatus:
    run = session.running()
    now = {s.order for s in steps}
    done = frozenset(s.order for s in run.plan.steps if s.order not in now)
    plan = run.plan.model_copy(update={"precondition": None})
    return session.carry_out(RunMachine(plan, done), session.measure_step, commit=session.paid, finished=finished)
