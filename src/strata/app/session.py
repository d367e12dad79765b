"""One run from survey to verdict: prepare, measure in interleaved rounds, compare, name, confirm."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from strata.app.circumstances import environment, other_engine, remarks
from strata.app.conditions import Change
from strata.app.earlier import earlier_noise, noise_place
from strata.app.experimenting import experimented
from strata.app.foreign_io import with_foreign_io
from strata.app.further import Purse, add_rounds
from strata.app.noise import probe_noise
from strata.app.options import Options
from strata.app.place import Place
from strata.app.planning import plan_of, refused_cells
from strata.app.preconditioning import said_of, write_until_steady
from strata.app.references import remembered_of
from strata.app.sampled import run_sampled
from strata.app.stacks import drop_layers
from strata.app.stopping import caught
from strata.app.traced import traced
from strata.app.watching import Watch, joined, watch_of
from strata.discover.chain import devices_of
from strata.engine import (
    Request,
    Shape,
    Timing,
    engine_for,
    measure_generator,
    prepare_cell,
)
from strata.errors import RunFailed
from strata.host.clock import now_unix_ns
from strata.host.proc import Sys
from strata.model import histogram
from strata.model.analysis import Analysis
from strata.model.finding import Diagnosis
from strata.model.plan import Cell, Plan, Step, StepKind
from strata.model.precondition import Preconditioned
from strata.model.progress import Glance, Phase, Progress
from strata.model.result import CellResult, Interval
from strata.model.run import NoiseProbe, Run, RunStatus
from strata.model.stack import Stack
from strata.model.survey import Survey
from strata.model.trace import TraceSummary
from strata.model.workload import Workload
from strata.probes.processes import Processes
from strata.probes.trace import check as check_trace
from strata.run.events import Finish
from strata.run.execute import execute
from strata.run.resume import done_orders

if TYPE_CHECKING:
    from strata.store import Store

Emit = Callable[[Progress], None]

GENERATOR_TIMING = Timing(ramp_s=0.05, runtime_s=0.15, interval_s=0.15)
NOISE_SECONDS = 0.4
FIRST_TRACE = 1_000_000
"""The order of the first traced window: behind all steps, whatever experiments add."""


class Session:
    """A run in progress. `Store` holds every finished cell before the next one starts."""

    def __init__(
        self,
        stack: Stack,
        survey: Survey,
        data_path: Path,
        options: Options,
        store: Store,
        emit: Emit,
        *,
        workloads: tuple[Workload, ...],
        shapes: Mapping[str, Shape] | None = None,
        direct: bool = True,
        left_out: Mapping[str, str] | None = None,
        run: Run | None = None,
    ) -> None:
        self.survey, self.options, self.store = survey, options, store
        self._tell = emit
        self._ends_at: float | None = None
        self._purse: Purse | None = None
        self._began = time.monotonic()
        self._processes = Processes(Sys())
        self._kept: dict[int, CellResult] | None = None
        self.workloads = workloads
        driven = run.plan.workloads if run else workloads
        writes = any(w.rw.writes for w in driven)
        self.place = Place(stack, data_path, shapes or {}, direct=direct, writes=writes)
        self.place.dropped.update(left_out or {})
        self.run = run
        placement = run.plan.placement if run else options.placement
        ends = [stack.endpoint_of(layer) for layer in stack.layers]
        self.engine = engine_for(run.environment.engine["name"] if run else options.engine, ends, placement)
        # Asked before anything is written: an engine that is not installed shows here.
        self._identity = self.engine.identity()
        self.stop_requested: Callable[[], bool] = lambda: caught() is not None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.place.close()

    def emit(self, progress: Progress) -> None:
        """Tell whoever watches; between two estimates of the time left, the clock counts it down."""
        now = time.monotonic()
        if progress.seconds_left is not None:
            self._ends_at = now + progress.seconds_left
        elif self._ends_at is not None and progress.step is not None:
            progress = progress.model_copy(update={"seconds_left": max(0.0, self._ends_at - now)})
        self._tell(progress)

    def prepare(self, run_id: str, size: int) -> Run:
        """Data, servers, the generator's own ceiling and the plan; the run is in the store from here on."""
        if self.options.trace:
            # Before anything is written.
            check_trace(str(self.place.path))
        self.emit(Progress(phase=Phase.PREPARE, message=f"writing the test file {self.place.path}"))
        began_with = self.run.data.mark if self.run and self.run.data else None
        self.place.prepare_file(size, keep=self.options.keep, expected=began_with)
        self.place.place_layers(self.survey.file_system.kind)
        stack = drop_layers(self.place.stack, set(self.place.dropped))
        if not stack.layers:
            raise RunFailed("nothing to measure:", "no layer is left", "; ".join(self.place.dropped.values()))
        resumed = self.run
        if resumed and (lost := [x.name for x in resumed.plan.stack.layers if x.name in self.place.dropped]):
            why = "; ".join(f"{name} can no longer be measured: {self.place.dropped[name]}" for name in lost)
            hint = "resume with the rights and the mounts the run began with, or start it anew"
            raise RunFailed("cannot resume", resumed.id, why, hint)
        if resumed and (other := other_engine(resumed.environment.engine, self._identity)):
            raise RunFailed("cannot resume", resumed.id, other, "start it anew")
        plan = resumed.plan if resumed else self._plan(stack, run_id, size)
        self.emit(Progress(phase=Phase.GENERATOR, message="measuring what the generator itself costs"))
        devices = joined(devices_of(self.place.endpoint(x.name)) for x in plan.stack.layers).devices
        generator, foreign = with_foreign_io(
            devices,
            lambda: measure_generator(self.engine, plan.workloads, GENERATOR_TIMING, plan.placement),
        )
        place = noise_place(plan.stack.layers[0].target, all(w.direct for w in plan.workloads))
        run = Run(
            id=plan.id,
            created_unix_ns=resumed.created_unix_ns if resumed else now_unix_ns(),
            status=RunStatus.RUNNING,
            plan=plan,
            environment=environment(self._identity, resumed),
            survey=self.survey,
            data=self.place.data,
            generator=generator,
            foreign=foreign,
            remotes=self.place.remotes,
            noise=self._noise(plan),
            message="; ".join(remarks(self.place, self.survey, self._identity, size)) or None,
            earlier=resumed.earlier if resumed else earlier_noise(self.store, place),
            pooled_at=place,
            label=resumed.label if resumed else self.options.label,
        )
        if resumed:
            self.store.update_run(run)
        else:
            self.store.create_run(run)
        self.run = run
        return run

    def measure(self) -> RunStatus:
        """Every step that the store does not hold yet."""
        run = self.running()
        done = done_orders(c for c in self.cells() if c.kind == StepKind.MEASURE.value)
        ends: list[str] = []

        def finished(end: Finish) -> None:
            ends.append(end.message)

        status = execute(
            run.plan,
            done=done,
            measure=self.measure_step,
            commit=self.commit,
            emit=self.emit,
            stop_requested=self.stop_requested,
            finished=finished,
            precondition=self._precondition,
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
            update["message"] = "; ".join(dict.fromkeys(m for m in (run.message, *ends) if m)) or None
        self.run = run.model_copy(update=update)
        self.store.update_run(self.run)
        return status

    def analyse(self) -> Analysis:
        """Every measured cell compared with the layer below."""
        # Numerical libraries take longer to load than a cell: after the measuring.
        from strata.analyse import analyse
        from strata.analyse.pooled import noise_of
        from strata.analyse.traces import with_traces

        run = self.running()
        kept = self.cells()
        results = tuple(c for c in kept if c.kind == StepKind.MEASURE.value)
        self.keep(run.model_copy(update={"pooled": noise_of(run.plan, results)}))
        run = self.running()
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

    def keep(self, run: Run) -> None:
        """The run as it is from now on, in the store too."""
        self.run = run
        self.store.update_run(run)

    def cells(self) -> tuple[CellResult, ...]:
        """Every result of the run, as the store has them; read once, because a deep stack has a great many counters."""
        if self._kept is None:
            self._kept = {c.order: c for c in self.store.cells(self.running().id)}
        return tuple(self._kept[order] for order in sorted(self._kept))

    def commit(self, result: CellResult) -> None:
        """On stable storage, and remembered."""
        self.store.save_cell(self.running().id, result)
        if self._kept is not None:
            self._kept[result.order] = result

    def purse(self) -> Purse:
        """What may follow the planned steps; from the first time on that it is asked for, its clock runs."""
        if self._purse is None:
            run = self.running()
            elapsed = time.monotonic() - self._began
            self._purse = Purse(run.plan, self.cells(), elapsed, confirm=self.options.confirm)
        return self._purse

    def conclude(self, analysis: Analysis) -> Diagnosis:
        """Name what limits, experiment until one cause stands or the budget is used up, and keep the outcome."""
        return experimented(self, analysis)

    def next_order(self) -> int:
        """Behind every step that is kept, but for the traced windows."""
        run = self.running()
        kept = [c.order for c in self.cells() if c.order < FIRST_TRACE]
        return max((*(s.order for s in run.plan.steps), *kept), default=-1) + 1

    def _precondition(self, cell: Cell) -> Preconditioned:
        run = self.running()
        assert run.plan.precondition is not None
        self.place.check_still_ours(cell.layer)
        done = write_until_steady(
            cell,
            run.plan.precondition,
            self.place.endpoint(cell.layer),
            self.place.segments(cell.layer),
            placement=run.plan.placement,
            emit=self.emit,
            stop_requested=self.stop_requested,
        )
        # A resumed run preconditions again: the last time counts.
        kept = tuple(p for p in run.preconditions if p.workload_key != done.workload_key)
        self.run = run.model_copy(update={"preconditions": (*kept, done)})
        self.store.update_run(self.run)
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
        place = next((i for i, s in enumerate(plan.steps, start=1) if s.order == step.order), None)

        def on_interval(interval: Interval, now: Glance) -> None:
            seconds = (interval.end_ns - interval.start_ns) / 1e9
            ops, size = interval.read.ops + interval.write.ops, interval.read.bytes + interval.write.bytes
            self.emit(
                Progress(
                    phase=phase,
                    layer=cell.layer,
                    label=cell.workload.label,
                    round=step.round + 1,
                    rounds=plan.rounds_most,
                    step=place,
                    steps=len(plan.steps),
                    iops=ops / seconds if seconds else None,
                    bytes_per_second=size / seconds if seconds else None,
                    p99_ns=_p99(interval),
                    now=now,
                )
            )

        if cell.workload.rw.writes:
            self.place.check_still_ours(cell.layer)
        request = self._request(plan, cell, step.round)
        prepared = prepare_cell(change(request) if change is not None and step.changed else request)
        watch = self._watch(cell.layer)
        done = run_sampled(self.engine, prepared, watch, on_interval, self.stop_requested, self._processes)
        return CellResult(
            order=step.order,
            round=step.round,
            cell=cell.key,
            kind=step.kind.value,
            layer=cell.layer,
            workload_key=cell.workload.key,
            result=done.result,
            counters=done.counters,
            absent=done.absent,
            server=done.server,
            devices=done.under.devices,
            carriers=done.under.carriers,
            experiment=step.experiment,
            changed=step.changed,
        )

    def _trace_cells(self) -> list[str]:
        """A short window with a trace for every cell that was measured; what went wrong, in words."""
        run, said = self.running(), []
        measured = {c.cell for c in self.cells() if c.kind == StepKind.MEASURE.value and c.result}
        for index, cell in enumerate(c for c in run.plan.cells if c.key in measured):
            if self.stop_requested():
                break
            self.emit(Progress(phase=Phase.CONFIRM, layer=cell.layer, message=f"tracing {cell.workload.label}"))
            if cell.workload.rw.writes:
                self.place.check_still_ours(cell.layer)
            traces: tuple[TraceSummary, ...] = ()
            error = None
            try:
                traces = traced(self.engine, self._request(run.plan, cell, 0), self.place.path, self.stop_requested)
            except RunFailed as e:
                error = e.headline
                said.append(f"not traced: {cell.layer}, {cell.workload.label}: {error}")
            self.commit(
                CellResult(
                    order=FIRST_TRACE + index,
                    round=0,
                    cell=cell.key,
                    kind=StepKind.TRACE.value,
                    layer=cell.layer,
                    workload_key=cell.workload.key,
                    result=None,
                    error=error,
                    traces=traces,
                ),
            )
        return said

    def _request(self, plan: Plan, cell: Cell, index: int) -> Request:
        return Request(
            endpoint=self.place.endpoint(cell.layer),
            workload=cell.workload,
            segments=self.place.segments(cell.layer),
            timing=Timing(ramp_s=plan.ramp_s, runtime_s=plan.runtime_s, interval_s=plan.interval_s),
            round_index=index,
            placement=plan.placement,
        )

    def _watch(self, layer: str) -> Watch:
        stack = self.running().plan.stack
        endpoints = {x.name: self.place.endpoint(x.name) for x in stack.layers}
        found = watch_of(stack, endpoints, layer, (str(self.place.path),))
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
        endpoint, segments = self.place.endpoint(layer), self.place.segments(layer)
        if self.engine.refusals(endpoint, workload, segments):
            return None
        return probe_noise(
            self.engine, layer, endpoint, workload, segments, seconds, self.stop_requested, plan.placement
        )

    def _plan(self, stack: Stack, run_id: str, size: int) -> Plan:
        """What the engine cannot carry out at a layer stays in the plan, skipped with the reason."""
        refused = refused_cells(
            self.engine,
            self.workloads,
            {x.name: (self.place.endpoint(x.name), self.place.segments(x.name)) for x in stack.layers},
        )
        return plan_of(stack, self.workloads, self.options, run_id, size, refused)

    def running(self) -> Run:
        """The run, once it is in the store."""
        assert self.run is not None, "prepare comes first"
        return self.run


def _p99(interval: Interval) -> float | None:
    merged = histogram.merge([interval.read.service_time, interval.write.service_time])
    if merged is None or not interval.read.ops + interval.write.ops:
        # An interval in which nothing came back, as in a stall.
        return None
    return histogram.quantiles(merged, [0.99])[0]
