"""Experiments until one cause stands or the budget is used up: each proposed, carried out, kept, and asked again.

`propose` and `diagnose` are pure; this is what gives them hands. A reference and a changed cell are measured in turn,
in rounds of their own, and a few rounds more where that leaves a prediction undecided. The outcome is in the store
before each experiment and after it: what ends one must not cost the verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from strata.app.conditions import Refused, condition
from strata.app.further import fastest_writes
from strata.app.planning import experiment_plan, experiment_round
from strata.app.runner import Change
from strata.errors import SafetyRefusal, Stopped, StoreError, StrataError
from strata.model.analysis import Analysis, CellSummary, NoiseFloor
from strata.model.caching import refusal
from strata.model.experiment import Experiment, Refusal, Told, Tried
from strata.model.finding import Diagnosis
from strata.model.plan import Cell, Plan
from strata.model.progress import Phase, Progress
from strata.model.result import CellResult
from strata.model.run import RunStatus
from strata.run.machine import RunMachine

if TYPE_CHECKING:
    from strata.app.session import Session

MOST = 8
"""Experiments of one diagnosis: causes that so many do not tell apart, no further one will."""
ROUNDS, ROUNDS_MOST = 2, 6
"""Of one experiment: at least, and at most where a prediction is still undecided."""


def experimented(session: Session, analysis: Analysis) -> Diagnosis:
    """The diagnosis after every experiment that was worth its time. Raises `Stopped` with the verdict kept."""
    from strata.diagnose import diagnose, propose

    run, purse = session.running(), session.purse()
    stack = run.plan.stack
    tried, refused = _before(session, analysis.noise)

    def told() -> Diagnosis:
        return diagnose(stack, analysis, tried).model_copy(update={"refused": refused})

    diagnosis = told()
    session.store.save_outcome(run.id, analysis, diagnosis)
    with purse.spending():
        while session.options.confirm and len(tried) + len(refused) < MOST:
            passed = tuple(r.experiment for r in refused)
            experiment = propose(stack, analysis, tried, purse.seconds_left, passed)
            if experiment is None:
                break
            found = _carried_out(session, experiment, analysis.noise)
            if isinstance(found, Refusal):
                refused = (*refused, found)
            else:
                tried = (*tried, found)
            diagnosis = told()
            session.store.save_diagnosis(run.id, diagnosis)
    return diagnosis


def tried_of(plan: Plan, story: Iterable[Told], cells: Sequence[CellResult], noise: NoiseFloor) -> tuple[Tried, ...]:
    """The experiments of a kept run as they were measured: what `diagnose` was asked with.

    Those of earlier versions, whose cells do not say of which experiment they are, are left out.
    """
    found = (_summed_up(plan, told.outcome.experiment, cells, noise) for told in story)
    return tuple(one for one in found if one is not None)


def _before(session: Session, noise: NoiseFloor) -> tuple[tuple[Tried, ...], tuple[Refusal, ...]]:
    """What was tried before the run was stopped, and what could not be."""
    run = session.running()
    outcome = session.store.outcome(run.id)
    if outcome is None:
        return (), ()
    return tried_of(run.plan, outcome[1].story, session.cells(), noise), outcome[1].refused


def _of(experiment: Experiment, cells: Iterable[CellResult]) -> list[CellResult]:
    """Its measurements, from where it was begun last: a run that was killed in it left some of an earlier beginning."""
    mine = sorted((c for c in cells if c.experiment == experiment.label), key=lambda c: c.order)
    begun = (place for place, c in enumerate(mine) if c.round == 0 and not c.changed)
    return mine[max(begun, default=0) :]


def _summed_up(plan: Plan, experiment: Experiment, cells: Iterable[CellResult], noise: NoiseFloor) -> Tried | None:
    """Both cells; None where one of them gave nothing, or what it was held against is not in the plan."""
    from strata.analyse import cell_summary

    own = experiment_plan(plan, experiment)
    if own is None:
        return None
    mine = _of(experiment, cells)
    sides: list[CellSummary | None] = []
    for changed, cell in enumerate(own.cells):
        some = [c for c in mine if c.changed is bool(changed)]
        sides.append(cell_summary(cell.layer, cell.workload, some, noise=noise) if some else None)
    reference, other = sides
    if reference is None or other is None:
        return None
    return Tried.of(experiment, reference, other)


def _carried_out(session: Session, experiment: Experiment, noise: NoiseFloor) -> Tried | Refusal:
    """The experiment as it was measured, or why it was not: what is wrong with one must not cost the verdict.

    Raises `Stopped`, `SafetyRefusal` and `StoreError`: they are about the run, not about this experiment.
    """
    run = session.running()
    try:
        plan = _checked(session, experiment)
        with condition(session, experiment) as change:
            cells = _rounds(session, experiment, plan, change, noise)
    except (SafetyRefusal, StoreError, Stopped):
        raise
    except (Refused, OSError) as e:
        return Refusal(experiment=experiment, because=str(e))
    except StrataError as e:
        # What a server that did not start said of it is the first of its problems.
        return Refusal(experiment=experiment, because="; ".join((e.headline, *e.problems[:1])))
    found = _summed_up(run.plan, experiment, cells, noise)
    if found is None:
        why = next((c.error for c in cells if c.error), "it gave nothing")
        return Refusal(experiment=experiment, because=why)
    return found


def _rounds(
    session: Session, experiment: Experiment, plan: Plan, change: Change, noise: NoiseFloor
) -> list[CellResult]:
    """Both cells of ``plan`` in turn, until every prediction is decided; a few rounds at most. Every step is kept."""
    run = session.running()
    session.emit(Progress(phase=Phase.CONFIRM, layer=experiment.layer, message=experiment.changes))
    results: list[CellResult] = []

    def commit(result: CellResult) -> None:
        session.paid(result)
        results.append(result)

    for number in range(ROUNDS_MOST):
        if number >= ROUNDS:
            affordable = session.purse().seconds_left > plan.seconds and _may_write(session, plan, 1)
            if not affordable or not _open(run.plan, experiment, results, noise):
                break
        steps = experiment_round(plan, experiment, number, session.next_order())
        batch = plan.model_copy(update={"steps": steps, "rounds": number + 1})
        status = session.carry_out(
            RunMachine(batch),
            partial(session.measure_step, phase=Phase.CONFIRM, plan=batch, change=change),
            commit=commit,
            emit=lambda p: session.emit(p.model_copy(update={"phase": Phase.CONFIRM})),
        )
        if status is RunStatus.STOPPED:
            raise Stopped("the verdict is kept, its experiment was not finished", hint=f"strata report {run.id}")
    return results


def _open(plan: Plan, experiment: Experiment, results: Sequence[CellResult], noise: NoiseFloor) -> bool:
    """Whether some prediction is neither held nor broken yet, and more rounds could tell."""
    from strata.diagnose.trying import story

    found = _summed_up(plan, experiment, results, noise)
    return found is not None and any(told.open for told in story((found,)))


def _may_write(session: Session, plan: Plan, rounds: int) -> bool:
    """Both cells together, so many rounds of them, within the bytes that were announced."""
    rates = fastest_writes(session.cells())
    span = rounds * (plan.ramp_s + plan.runtime_s)
    return session.purse().may_write([(c.workload, span, rates.get(c.key)) for c in plan.cells], plan)


def _checked(session: Session, experiment: Experiment) -> Plan:
    """Its plan. Raises `Refused` with the reason where it cannot be run here, or would do more than was announced."""
    run = session.running()
    there = {layer.name: layer for layer in run.plan.stack.layers}
    plan = experiment_plan(run.plan, experiment)
    if plan is None:
        raise Refused(f"{experiment.reference} was not measured")
    for cell in plan.cells:
        if cell.layer not in there:
            raise Refused(f"there is no layer {cell.layer}")
        if why := _impossible(session, cell):
            raise Refused(why)
    if not _may_write(session, plan, ROUNDS):
        raise Refused("it would write more than the plan announced")
    return plan


def _impossible(session: Session, cell: Cell) -> str | None:
    endpoint = session.place.endpoint(cell.layer)
    if cell.workload.rw.writes and session.place.read_only(cell.layer):
        return f"{cell.layer} is read-only: Strata does not write to what it did not create"
    if why := refusal(endpoint, cell.workload):
        return why
    return "; ".join(session.engine.refusals(endpoint, cell.workload, session.place.segments(cell.layer))) or None
