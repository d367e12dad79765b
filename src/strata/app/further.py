"""What follows the planned steps: further rounds of the cells that cannot be told, within a bound that is kept."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from strata.model.plan import Further, Plan, StepKind
from strata.model.progress import Phase
from strata.model.result import CellResult
from strata.model.run import RunStatus
from strata.model.workload import Workload
from strata.plan.cost import bytes_written
from strata.plan.detail import further_round
from strata.run.execute import execute

if TYPE_CHECKING:
    from strata.app.session import Session

DETAIL_SHARE = 0.4
"""Of the budget, for further rounds: what is left names the cause."""


class Purse:
    """The seconds and the bytes that may follow the planned steps, and what is gone of them."""

    def __init__(self, plan: Plan, kept: Iterable[CellResult]) -> None:
        """``kept``: what the store holds, of a resumed run too: its further steps are paid already."""
        self._allowed = plan.further or Further(seconds=0.0, bytes_written=0, detail=False)
        later = [c for c in kept if c.round >= plan.rounds or c.kind == StepKind.CONFIRM.value]
        self._gone_s = len(later) * plan.step_s
        self._written = sum(c.result.write.bytes for c in later if c.result is not None)
        self._since = time.monotonic()

    @property
    def seconds_left(self) -> float:
        """Of the clock: what is thought about is paid too."""
        return self._allowed.seconds - self._gone_s - (time.monotonic() - self._since)

    @property
    def detail_left(self) -> float:
        """Of it, for further rounds."""
        return self.seconds_left - (1 - DETAIL_SHARE) * self._allowed.seconds if self._allowed.detail else 0.0

    def wrote(self, result: CellResult) -> None:
        """A further step is over."""
        self._written += result.result.write.bytes if result.result is not None else 0

    def may_write(self, workload: Workload, seconds: float, plan: Plan, fastest: float | None) -> bool:
        """Whether so many seconds of this workload stay within the bytes that were announced. ``fastest``: bytes per
        second that it wrote so far at most; None: not known, the plan's own assumption is taken."""
        rate = plan.assumed_write_bps if fastest is None else min(plan.assumed_write_bps, 2 * fastest)
        return self._written + bytes_written(workload, seconds, rate) <= self._allowed.bytes_written


def fastest_writes(results: Iterable[CellResult]) -> dict[str, float]:
    """Bytes per second written at most, by cell key."""
    found: dict[str, float] = {}
    for one in results:
        if one.result is not None and one.result.measured_ns:
            rate = one.result.write.bytes / one.result.seconds
            found[one.cell] = max(rate, found.get(one.cell, 0.0))
    return found


def add_rounds(session: Session) -> RunStatus:
    """Further rounds until every comparison that matters can be told, or their share of the budget is used.

    Each round is a part of the plan before it is measured, so that a run that is stopped in it goes on there.
    """
    purse = session.purse()
    while True:
        run = session.running()
        kept = session.store.cells(run.id)
        plan = run.plan
        steps = further_round(plan, session.looked_at(kept), purse.detail_left)
        fastest = fastest_writes(kept)
        span = plan.ramp_s + plan.runtime_s
        steps = tuple(
            s for s in steps
            if purse.may_write(plan.cell(s.cell).workload, span * len(steps), plan, fastest.get(s.cell))
        )  # fmt: skip
        if not steps:
            return RunStatus.DONE
        session.keep(run.model_copy(update={"plan": plan.model_copy(update={"steps": (*plan.steps, *steps)})}))

        def commit(result: CellResult, run_id: str = run.id) -> None:
            session.store.save_cell(run_id, result)
            purse.wrote(result)

        status = execute(
            plan.model_copy(update={"steps": steps, "precondition": None}),
            done=frozenset(),
            measure=session.measure_step,
            commit=commit,
            emit=lambda p: session.emit(p.model_copy(update={"phase": Phase.MEASURE})),
            stop_requested=session.stop_requested,
        )
        if status is RunStatus.STOPPED:
            return status
