"""Experiments until one cause stands or the budget is used up: each proposed, carried out, kept, and asked again.

`propose` and `diagnose` are pure; this is what gives them hands. A reference and a changed cell are measured in turn,
in rounds of their own, and a few rounds more where that leaves a prediction undecided. The outcome is in the store
before each experiment and after it: what ends one must not cost the verdict.

What an experiment changes beside the workload is a context manager that gives the change made to the request of the
changed cell, right before it is measured; what it brought about is undone when the block ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from strata.app.further import fastest_writes, last_round
from strata.app.live import standing_of
from strata.app.plan import experiment_plan, experiment_round
from strata.app.runner import Change
from strata.engine import Backing, Request
from strata.errors import RunFailed, SafetyRefusal, Stopped, StoreError, StrataError
from strata.model.analysis import Analysis, CellSummary, NoiseFloor
from strata.model.caching import refusal
from strata.model.endpoint import Endpoint, is_loopback
from strata.model.experiment import Condition, Experiment, ExperimentRecord, Refusal, Tried
from strata.model.finding import Diagnosis, VerdictKind
from strata.model.placement import Placement
from strata.model.plan import Plan
from strata.model.progress import Phase, Progress
from strata.model.result import CellResult
from strata.model.run import Run, RunStatus
from strata.run.machine import RunMachine

if TYPE_CHECKING:
    from strata.app.session import Session

STILL_THERE = 0.05
"""A share of the file's pages that may be left: cold is what was read from below."""


class Refused(Exception):
    """The experiment cannot be run here; the text is the reason."""


def condition(session: Session, experiment: Experiment) -> AbstractContextManager[Change]:
    """The mechanism of this experiment's condition. Entering it may raise `Refused`."""
    return _MECHANISMS[experiment.condition](session, experiment)


@contextmanager
def _none(_session: Session, _experiment: Experiment) -> Iterator[Change]:
    yield lambda request: request


@contextmanager
def _cold(session: Session, experiment: Experiment) -> Iterator[Change]:
    """This run's own file leaves this machine's memory before each measurement; nothing else does."""

    def dropped(request: Request) -> Request:
        try:
            left = session.place.drop_pages(experiment.layer)
        except OSError as e:
            raise RunFailed("cannot drop the pages of", str(session.place.path), e.strerror or str(e)) from e
        if left > STILL_THERE:
            why = f"{left:.0%} of its pages stay in memory"
            raise RunFailed("cannot drop the pages of", str(session.place.path), why)
        # What a ramp read would be warm again.
        return request.model_copy(update={"timing": request.timing.model_copy(update={"ramp_s": 0.0})})

    yield dropped


@contextmanager
def _pinned(session: Session, experiment: Experiment) -> Iterator[Change]:
    """The load's threads on a CPU that they were not told to use; the last one where they were told nothing."""
    allowed = session.place.cpus(experiment.layer)
    told = session.running().plan.placement
    if told is not None and told.nodes:
        raise Refused("--numa-node already binds the threads")
    others = [cpu for cpu in allowed if told is None or cpu not in told.cpus]
    if len(allowed) < 2 or not others:
        raise Refused("no other CPU is available to this process")
    elsewhere = Placement(cpus=(others[-1],))
    yield lambda request: request.model_copy(update={"placement": elsewhere})


@contextmanager
def _null_end(session: Session, experiment: Experiment) -> Iterator[Change]:
    """A server of our own that stores nothing, on the far node itself: what is left is the path to it."""
    if experiment.workload.rw.writes:
        raise Refused("a target that stores no data serves reads only")
    with _other_end(session, experiment, Backing(kind="null", size_bytes=_data_size(session))) as change:
        yield change


@contextmanager
def _memory_end(session: Session, experiment: Experiment) -> Iterator[Change]:
    """The same with the memory of that node as its store: what is written there is gone with the server."""
    store = Backing(kind="memory", size_bytes=_data_size(session), read_only=False)
    with _other_end(session, experiment, store) as change:
        yield change


def _data_size(session: Session) -> int:
    data = session.running().data
    assert data is not None
    return data.size


@contextmanager
def _other_end(session: Session, experiment: Experiment, store: Backing) -> Iterator[Change]:
    endpoint = session.place.endpoint(experiment.layer)
    host = urlsplit(endpoint.uri).hostname
    if not endpoint.remote or host is None or is_loopback(host):
        # Every node has a loopback: a server on another one's is not where the address leads.
        raise Refused(f"{experiment.layer} has no server that is reached over a network")
    # Those of one measurement, those of the one before that are not off the books yet, and the one that asks first.
    clients = 2 * max(endpoint.connections, experiment.workload.threads) + 1
    with session.place.other_end(experiment.layer, store, clients) as other:
        if other is None:
            why = "its node is not a network namespace of this machine, and has not joined as a node"
            raise Refused(f"Strata cannot start a server beside that of {experiment.layer}: {why}")
        yield _to(other)


def _to(other: Endpoint) -> Change:
    return lambda request: request.model_copy(update={"endpoint": other})


@contextmanager
def _slowed(session: Session, experiment: Experiment) -> Iterator[Change]:
    """A server that Strata started itself, each of whose requests takes a little longer; nothing else is slowed."""
    if experiment.added_ns is None:
        raise Refused("no added time is given")
    with session.place.slower(experiment.layer, experiment.added_ns) as other:
        if other is None:
            raise Refused(f"{experiment.layer} is not slowed down, because it may serve others too")
        yield _to(other)


@contextmanager
def _more_paths(session: Session, experiment: Experiment) -> Iterator[Change]:
    """The requests go over a second layer, too, which was measured as it is."""
    other = experiment.beside
    if other is None or other in session.place.dropped:
        raise Refused("no second path is there")
    if experiment.workload.rw.writes:
        raise Refused("two paths to the same data are read at the same time, never written")
    yield lambda request: request.model_copy(update={"more": (*request.more, *session.place.pieces(other))})


_MECHANISMS: dict[Condition, Callable[[Session, Experiment], AbstractContextManager[Change]]] = {
    Condition.NONE: _none,
    Condition.COLD: _cold,
    Condition.PINNED: _pinned,
    Condition.SLOWED: _slowed,
    Condition.NULL_END: _null_end,
    Condition.MEMORY_END: _memory_end,
    Condition.MORE_PATHS: _more_paths,
}


MOST = 8
"""Experiments of one diagnosis: causes that so many do not tell apart, no further one will."""
ROUNDS, ROUNDS_MOST = 2, 6
"""Of one experiment: at least, and at most where a prediction is still undecided."""
TRACED_S = 2.0
"""Of one traced workload: its ramp and window, and until the trace has begun and is read."""


def experimented(session: Session, analysis: Analysis) -> tuple[Analysis, Diagnosis]:
    """The diagnosis after every experiment that was worth its time, and the analysis that it is of: with the order of
    requests, where only that could tell and tracing is possible. Raises `Stopped` with the verdict kept."""
    from strata.diagnose import diagnose, order_wanted, propose

    run, budget = session.running(), session.budget()
    stack = run.plan.stack
    tried, refused = _before(session, analysis.noise)

    def told() -> Diagnosis:
        return diagnose(stack, analysis, tried).model_copy(update={"refused": refused})

    diagnosis = told()
    session.store.save_outcome(run.id, analysis, diagnosis)
    with budget.spending():
        while session.options.confirm and len(tried) + len(refused) < MOST:
            passed = tuple(r.experiment for r in refused)
            session.standing = standing_of(diagnosis)
            experiment = propose(stack, analysis, tried, budget.seconds_left, passed)
            again = _rounds_first(analysis, diagnosis, experiment) and _again(session)
            if again:
                # What the rounds are too few to tell, no experiment tells either: the time is theirs.
                analysis = session.analyse()
            elif experiment is None:
                break
            else:
                found = _carried_out(session, experiment, analysis.noise)
                if isinstance(found, Refusal):
                    refused = (*refused, found)
                else:
                    tried = (*tried, found)
            diagnosis = told()
            if again:
                session.store.save_outcome(run.id, analysis, diagnosis)
            else:
                session.store.save_diagnosis(run.id, diagnosis)
            # Who watches sees what the last experiment said, too.
            session.emit(Progress(phase=Phase.CONFIRM, standing=standing_of(diagnosis)))
        # Where the numbers do not explain themselves, the order in which the device gets the requests is looked at.
        ask = session.options.confirm and not session.options.trace
        wanted = order_wanted(stack, analysis, tried) if ask else ()
        if wanted and _may_trace(session, wanted) and session.trace_order(wanted):
            analysis = session.analyse()
            diagnosis = told()
            session.store.save_outcome(run.id, analysis, diagnosis)
    return analysis, diagnosis


def _rounds_first(analysis: Analysis, diagnosis: Diagnosis, experiment: Experiment | None) -> bool:
    """Whether more rounds may change the verdict, and come before ``experiment``: nobody is blamed, or a layer may be
    slow of which nothing is said. Before one only where nobody is blamed, and it is about none that may be slow."""
    from strata.analyse.overall import doubted

    said = {f.layer for f in diagnosis.findings}
    nobody = diagnosis.verdict.kind is VerdictKind.INCONCLUSIVE
    maybe = {c.layer for c in doubted(analysis.comparisons)}
    if experiment is None:
        return nobody or bool(maybe - said)
    about = {p.layer for p in experiment.predictions}
    return nobody and bool(maybe) and not about & (maybe | said)


def _again(session: Session) -> bool:
    """Whether one more round of the cells that cannot be told was measured."""
    ends: list[str] = []
    status = last_round(session, lambda end: ends.append(end.message))
    if ends:
        session.keep(message=session.say(*ends))
    if status is RunStatus.STOPPED:
        raise _stopped(session.running())
    return status is RunStatus.DONE


def _stopped(run: Run) -> Stopped:
    return Stopped("the verdict is kept; what followed it did not complete", hint=f"strata report {run.id}")


def tried_of(
    plan: Plan, story: Iterable[ExperimentRecord], cells: Sequence[CellResult], noise: NoiseFloor
) -> tuple[Tried, ...]:
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
    """Both cells; None where one of them gave nothing, or what it was compared with is not in the plan."""
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
        why = next((c.error for c in cells if c.error), "it gave no result")
        return Refusal(experiment=experiment, because=why)
    return found


def _rounds(
    session: Session, experiment: Experiment, plan: Plan, change: Change, noise: NoiseFloor
) -> list[CellResult]:
    """Both cells of ``plan`` in turn, until every prediction is decided; a few rounds at most. Every step is kept."""
    run = session.running()
    session.emit(
        Progress(
            phase=Phase.CONFIRM, layer=experiment.layer, message=experiment.changes, standing=session.standing
        )
    )  # fmt: skip
    results: list[CellResult] = []

    def commit(result: CellResult) -> None:
        session.paid(result)
        results.append(result)

    for number in range(ROUNDS_MOST):
        if number >= ROUNDS:
            affordable = session.budget().seconds_left > plan.seconds and _may_write(session, plan, 1)
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
            raise _stopped(run)
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
    return session.budget().may_write([(c.workload, span, rates.get(c.key)) for c in plan.cells], plan)


def _may_trace(session: Session, wanted: Collection[tuple[str, str]]) -> bool:
    """Within the seconds that are left, and the bytes that were announced."""
    plan, rates, budget = session.running().plan, fastest_writes(session.cells()), session.budget()
    cells = [c for c in plan.cells if (c.layer, c.workload.key) in wanted]
    asked = [(c.workload, TRACED_S, rates.get(c.key)) for c in cells]
    return budget.seconds_left >= TRACED_S * len(cells) and budget.may_write(asked, plan)


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
        endpoint, read_only = session.place.endpoint(cell.layer), session.place.read_only(cell.layer)
        why = refusal(endpoint, cell.workload, read_only=read_only)
        if why or (reasons := session.engine.refusals(endpoint, cell.workload, session.place.segments(cell.layer))):
            raise Refused(why or "; ".join(reasons))
    if not _may_write(session, plan, ROUNDS):
        raise Refused("it would write more data than the plan allows")
    return plan
