"""One run from survey to verdict: prepare, measure in interleaved rounds, compare, name, confirm."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING

from strata.app.circumstances import remarks
from strata.app.earlier import earlier_noise, noise_place_of, remembered_of
from strata.app.further import Budget, add_rounds
from strata.app.noise import probe_noise
from strata.app.options import Options
from strata.app.plan import plan_of, refused_cells
from strata.app.precondition import said_of, write_until_steady
from strata.app.runner import (
    MEASURING_GENERATOR,
    Change,
    Emit,
    Runner,
    check_layers,
    check_resumable,
    rates,
    run_of,
    times,
)
from strata.app.sampling_scope import SamplingScope, sampling_scope_of
from strata.app.signals import caught
from strata.engine import Timing, engine_for
from strata.errors import RunFailed
from strata.model.analysis import Analysis
from strata.model.plan import Cell, Plan, Step, StepKind
from strata.model.precondition import Preconditioned
from strata.model.progress import Glance, Phase, Progress, StandingCause
from strata.model.result import CellResult, Interval
from strata.model.run import NoiseProbe, Run, RunStatus
from strata.model.stack import Stack
from strata.model.survey_compared import ComparedSurveys
from strata.model.trace import TraceSummary
from strata.model.workload import Workload
from strata.run.execute import Finish
from strata.run.judge import done_orders, result_of
from strata.run.machine import RunMachine

if TYPE_CHECKING:
    from strata.app.diagnose import DiagnosisInput
    from strata.store import Store

GENERATOR_TIMING = Timing(ramp_s=0.05, runtime_s=0.15, interval_s=0.15)
NOISE_SECONDS = 0.4
FIRST_TRACE = 1_000_000
"""The order of the first traced window: behind all steps, whatever experiments add."""


class Session(Runner):
    """The runner of a stack: interleaved rounds of every layer, further ones, traces, and the experiments."""

    def __init__(
        self, source: DiagnosisInput, options: Options, store: Store, emit: Emit, *, workloads: tuple[Workload, ...],
        run: Run | None = None,
    ) -> None:  # fmt: skip
        self.survey, self.options, self.store = source.survey, options, store
        self._budget: Budget | None = None
        self.standing: tuple[StandingCause, ...] = ()
        self._began = time.monotonic()
        self.workloads = workloads
        self.place = source.place(run.plan.workloads if run else workloads)
        placement = run.plan.placement if run else options.placement
        ends = [source.stack.endpoint_of(layer) for layer in source.stack.layers]
        engine = engine_for(run.environment.engine["name"] if run else options.engine, ends, placement)
        # Asked before anything is written: an engine that is not installed shows here.
        self._identity = engine.identity()
        driver = source.driver(self.place)
        super().__init__(self.place, engine, store, self._watched, emit, lambda: caught() is not None, driver)
        self.run = run

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.place.close()

    def prepare(self, run_id: str, size: int, nodes: ComparedSurveys | None = None) -> Run:
        """Data, servers, the generator's own ceiling and the plan; the run is in the store from here on. ``nodes``: in
        what they differ."""
        if self.options.trace:
            # Before anything is written.
            self.place.check_trace()
        resumed = self.run
        kind = self.survey.file_system.kind
        stack = self.place.prepare(size, kind, self.emit, keep=self.options.keep, resumed=resumed)
        check_layers(resumed, self.place.dropped)
        check_resumable(resumed, self._identity)
        plan = resumed.plan if resumed else self._plan(stack, run_id, size)
        self.emit(MEASURING_GENERATOR)
        generator, foreign = self.place.generator(self.engine, plan.workloads, GENERATOR_TIMING, plan.placement)
        place = noise_place_of(plan.stack, all(w.direct for w in plan.workloads))
        run = run_of(
            plan,
            self._identity,
            self.options.label,
            resumed,
            survey=self.survey,
            data=self.place.data,
            generator=generator,
            foreign=foreign,
            remotes=self.place.remotes,
            noise=self._noise(plan),
            message="; ".join(remarks(self.place, self.survey, self._identity, size)) or None,
            earlier=resumed.earlier if resumed else earlier_noise(self.store, place),
            pooled_at=place,
            nodes=nodes,
        )
        return self.begin(run, anew=resumed is None)

    def measure(self) -> RunStatus:
        """Every step that the store does not hold yet."""
        run = self.running()
        done = done_orders(c for c in self.cells() if c.kind == StepKind.MEASURE.value)
        ends: list[str] = []

        def finished(end: Finish) -> None:
            ends.append(end.message)

        status = self.carry_out(
            RunMachine(run.plan, done), self.measure_step, finished=finished, precondition=self._precondition
        )
        if status is RunStatus.DONE and run.plan.further is not None and run.plan.further.detail:
            status = add_rounds(self, finished)
        if self.options.trace and status is RunStatus.DONE:
            ends += self._trace_cells()
        if gone := self.place.gone():
            ends.append(gone)
        run = self.running()
        labels = {w.key: w.label for w in run.plan.workloads}
        ends += [f"preconditioning {labels[p.workload_key]}: {said_of(p)}" for p in run.preconditions if not p.reached]
        update: dict[str, object] = {"status": status}
        if status is not RunStatus.STOPPED:
            # A layer that was given up is said in the report, not only while it happens.
            update["message"] = self.say(*ends)
        self.keep(**update)
        return status

    def analyse(self) -> Analysis:
        """Every measured cell compared with the layer below."""
        # Numerical libraries take longer to load than a cell: after the measuring.
        from strata.analyse import analyse
        from strata.analyse.pooled import noise_of
        from strata.analyse.whole import with_traces

        run = self.running()
        kept = self.cells()
        results = tuple(c for c in kept if c.kind == StepKind.MEASURE.value)
        run = self.keep(pooled=noise_of(run.plan, results))
        analysis = analyse(
            run.plan,
            results,
            data=run.data,
            generator=run.generator,
            remotes=run.remotes,
            foreign=run.foreign,
            survey=self.survey,
            first_noise=run.noise,
            earlier=run.earlier,
        )
        found = with_traces(analysis, kept)
        before = remembered_of(self.store, run)
        return found.model_copy(update={"references": (*found.references, *before)})

    def budget(self) -> Budget:
        """What may follow the planned steps; from the first time on that it is asked for, its clock runs."""
        if self._budget is None:
            run = self.running()
            elapsed = time.monotonic() - self._began
            self._budget = Budget(run.plan, self.cells(), elapsed, confirm=self.options.confirm)
        return self._budget

    def paid(self, result: CellResult) -> None:
        """As `commit`, of what follows the planned steps."""
        self.commit(result)
        self.budget().wrote(result)

    def next_order(self) -> int:
        """Behind every step that is kept, but for the traced windows."""
        run = self.running()
        kept = [c.order for c in self.cells() if c.order < FIRST_TRACE]
        return max((*(s.order for s in run.plan.steps), *kept), default=-1) + 1

    def _precondition(self, cell: Cell) -> Preconditioned:
        run = self.running()
        assert run.plan.precondition is not None
        done = write_until_steady(self, cell, run.plan.precondition, run.plan.placement)
        # A resumed run preconditions again: the last time counts.
        kept = tuple(p for p in run.preconditions if p.workload_key != done.workload_key)
        self.keep(preconditions=(*kept, done))
        return done

    def measure_step(
        self,
        step: Step,
        cell: Cell,
        phase: Phase = Phase.MEASURE,
        plan: Plan | None = None,
        change: Change | None = None,
    ) -> CellResult:
        """One step, with the counters of all nodes beside it. Raises what the engine raises.

        ``plan``: where it is not the run's own; ``change`` is made to the request of an experiment's changed cell.
        """
        plan = plan or self.running().plan
        told = Progress(
            phase=phase, layer=cell.layer, label=cell.workload.label, round=step.round + 1, rounds=plan.rounds_most,
            step=next((i for i, s in enumerate(plan.steps, start=1) if s.order == step.order), None),
            steps=len(plan.steps),
        )  # fmt: skip

        def on_interval(interval: Interval, now: Glance) -> None:
            self.emit(told.model_copy(update={**rates(interval), **times(interval), "now": now}))

        prepared = self.ready(step, cell, _timing(plan), plan.placement, change)
        return self.measure_cell(step, cell, prepared, on_interval)

    def trace_order(self, cells: Collection[tuple[str, str]]) -> bool:
        """Traces these (layer, key of the workload), where requests may be traced here; whether any was."""
        try:
            self.place.check_trace()
        except RunFailed:
            return False
        self.keep(message=self.say(*self._trace_cells(cells)))
        return any(c.traces for c in self.cells())

    def _trace_cells(self, only: Collection[tuple[str, str]] | None = None) -> list[str]:
        """A short window with a trace for every cell that was measured; what went wrong, in words, each once."""
        run, wrong = self.running(), defaultdict[tuple[str, str], list[str]](list)
        measured = {c.cell for c in self.cells() if c.kind == StepKind.MEASURE.value and c.result}
        for index, cell in enumerate(c for c in run.plan.cells if c.key in measured):
            if only is not None and (cell.layer, cell.workload.key) not in only:
                continue
            if self.stop_requested():
                break
            self.emit(Progress(phase=Phase.CONFIRM, layer=cell.layer, message=f"tracing {cell.workload.label}"))
            if cell.workload.rw.writes:
                self.place.check_still_ours(cell.layer)
            traces: tuple[TraceSummary, ...] = ()
            error, label = None, f"{cell.layer}, {cell.workload.label}"
            try:
                request = self.request(cell, _timing(run.plan), 0, run.plan.placement)
                found = self.place.traced(self.engine, cell.layer, request, self.stop_requested)
                traces = found.devices
                for why in found.said:
                    wrong["trace of", why].append(label)
            except RunFailed as e:
                error = e.headline
                wrong["not traced:", error].append(label)
            step = Step(order=FIRST_TRACE + index, round=0, cell=cell.key, kind=StepKind.TRACE)
            self.commit(result_of(step, cell, error=error, traces=traces))
        return [
            f"{what} {first}{f' and {len(more)} more' if more else ''}: {why}"
            for (what, why), (first, *more) in wrong.items()
        ]

    def _watched(self, layer: str) -> SamplingScope:
        stack = self.running().plan.stack
        endpoints = {x.name: self.place.endpoint(x.name) for x in stack.layers}
        found = sampling_scope_of(stack, endpoints, layer, (str(self.place.path),))
        stats = self.place.stats(layer)
        return found if stats is None else found.served_by(stats)

    def _noise(self, plan: Plan) -> NoiseProbe | None:
        """At the lowest layer, with the first workload that only reads and keeps several I/Os outstanding."""
        reading = [w for w in plan.workloads if not w.rw.writes]
        workload = next((w for w in reading if w.outstanding > 1), reading[0] if reading else None)
        if workload is None:
            return None
        layer = plan.stack.layers[0].name
        self.emit(Progress(phase=Phase.GENERATOR, message="measuring the noise floor", layer=layer))
        seconds = min(plan.runtime_s, NOISE_SECONDS)
        if self.engine.refusals(self.place.endpoint(layer), workload, self.place.segments(layer)):
            return None
        return probe_noise(self, Cell(layer=layer, workload=workload), seconds, plan.placement)

    def _plan(self, stack: Stack, run_id: str, size: int) -> Plan:
        """What the engine cannot carry out at a layer stays in the plan, skipped with the reason."""
        pieces = {x.name: self.place.pieces(x.name)[0] for x in stack.layers}
        refused = refused_cells(self.engine, self.workloads, pieces)
        return plan_of(stack, self.workloads, self.options, run_id, size, refused)


def _timing(plan: Plan) -> Timing:
    return Timing(ramp_s=plan.ramp_s, runtime_s=plan.runtime_s, interval_s=plan.interval_s)
