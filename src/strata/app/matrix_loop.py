"""The hands of a matrix: measures what the machine asks for, and has every visit in the store before the next one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from strata.app.matrix_site import Site
from strata.app.sampled import Sampled, run_sampled
from strata.app.session import Emit
from strata.app.watching import Watch, devices_reached
from strata.engine import Engine, Request, Timing, prepare_cell
from strata.errors import SafetyRefusal, StoreError, StrataError
from strata.host.proc import Sys
from strata.model.plan import Plan, StepKind
from strata.model.progress import Glance, Phase, Progress
from strata.model.result import CellResult, Interval
from strata.probes.processes import Processes
from strata.run.judge import cut_short, fault

if TYPE_CHECKING:
    from strata.run.matrix import Ask, Matrix
    from strata.store import Store

BIN_S = 0.05
SETTLE_S = 0.5
"""After the last write of a batch, before the first read of the next: what the device still works off."""
WRITES_USED_UP = "byte bound reached: no more writing"


class MatrixLoop:
    """One matrix at one site. `run` goes on until the machine says that it is over, or somebody stops it."""

    def __init__(
        self, plan: Plan, site: Site, engine: Engine, machine: Matrix, store: Store, emit: Emit, ramp_s: float,
        stop_requested: Callable[[], bool], order: int, written: int,
    ) -> None:  # fmt: skip
        self._plan, self._site, self._engine, self._machine = plan, site, engine, machine
        self._store, self._emit, self._ramp_s, self._stop = store, emit, ramp_s, stop_requested
        self._order, self.written = order, written
        self._processes = Processes(Sys())
        self._rounds: dict[int, int] = {}
        self._wrote = False
        self._watches = devices_reached(site.stack, {name: piece.endpoint for name, piece in site.pieces.items()})
        for v in machine.visits:
            self._rounds[v.cell] = self._rounds.get(v.cell, 0) + 1

    def floor(self) -> bool:
        """The noise floor; False where somebody stopped it."""
        return self._batch(self._machine.begin())

    def rest(self) -> bool:
        """Every cell, then what pays most; False where somebody stopped it."""
        if not self._batch(self._machine.brief()):
            return False
        while asks := self._more():
            if not self._batch(asks):
                return False
        return True

    def _more(self) -> tuple[Ask, ...]:
        # Thinking takes time too, and the budget is that of the clock.
        begin = time.monotonic()
        asks = self._machine.more()
        self._machine.spent_s += time.monotonic() - begin
        return asks

    def _batch(self, asks: tuple[Ask, ...]) -> bool:
        for number, ask in enumerate(asks, start=1):
            if self._stop():
                return False
            if self._machine.spent_s >= self._machine.budget_s:
                self._machine.over("budget")
                return True
            if not self._visit(ask, number, len(asks)):
                return False
        return True

    def _visit(self, ask: Ask, number: int, of: int) -> bool:
        from strata.analyse.visit import visit_of

        cell = self._plan.cells[ask.cell]
        writes = cell.workload.rw.writes
        begin = time.monotonic()
        if writes and self.written + self._site.size >= self._plan.bytes_written:
            self._machine.took(ask.cell, None, ask.seconds, 0.0)
            self._save(ask, None, WRITES_USED_UP)
            return True
        if self._wrote and not writes:
            time.sleep(SETTLE_S)
        self._wrote = writes
        left = max(0.0, self._machine.budget_s - self._machine.spent_s)
        told = Progress(
            phase=Phase.MEASURE, layer=cell.layer, label=cell.workload.label, message=ask.why, step=number, steps=of,
            seconds_left=left,
        )  # fmt: skip
        self._emit(told)
        try:
            done = self._measured(ask, told)
            result = done.result
        except (SafetyRefusal, StoreError):
            raise
        except (StrataError, OSError) as e:
            error = e.headline if isinstance(e, StrataError) else str(e)
            self._save(ask, None, error)
            self._machine.took(ask.cell, None, ask.seconds, time.monotonic() - begin)
            return True
        self.written += result.write.bytes
        trouble = fault(result)
        self._save(ask, CellResult(
            order=self._order, round=self._rounds.get(ask.cell, 0), cell=cell.key, kind=StepKind.MEASURE.value,
            layer=cell.layer, workload_key=cell.workload.key, result=result, counters=done.counters, absent=done.absent,
            devices=done.under.devices, carriers=done.under.carriers, error=trouble,
        ), trouble)  # fmt: skip
        if cut_short(result):
            return False
        visit = None if trouble is not None else visit_of(ask.cell, result.intervals)
        self._machine.took(ask.cell, visit, ask.seconds, time.monotonic() - begin)
        self._rounds[ask.cell] = self._rounds.get(ask.cell, 0) + 1
        self._emit(told.model_copy(update={
            "finished": True, "iops": result.iops, "bytes_per_second": result.bytes_per_second, "error": trouble,
        }))  # fmt: skip
        return True

    def _measured(self, ask: Ask, told: Progress) -> Sampled:
        cell, piece = self._plan.cells[ask.cell], self._site.pieces[self._plan.cells[ask.cell].layer]
        if cell.workload.rw.writes:
            self._site.still_ours(cell.layer)

        def on_interval(interval: Interval, _now: Glance) -> None:
            seconds = (interval.end_ns - interval.start_ns) / 1e9
            ops, size = interval.read.ops + interval.write.ops, interval.read.bytes + interval.write.bytes
            self._emit(told.model_copy(update={"iops": ops / seconds, "bytes_per_second": size / seconds}))

        prepared = prepare_cell(
            Request(
                endpoint=piece.endpoint,
                workload=cell.workload,
                segments=piece.segments,
                timing=Timing(ramp_s=self._ramp_s, runtime_s=_whole_bins(ask.seconds), interval_s=BIN_S),
                allow_write=self._site.allow_write,
                round_index=self._rounds.get(ask.cell, 0),
                placement=self._plan.placement,
            )
        )
        watch = self._watches.get(cell.layer, Watch())
        return run_sampled(self._engine, prepared, watch, on_interval, self._stop, self._processes)

    def _save(self, ask: Ask, result: CellResult | None, error: str | None) -> None:
        cell = self._plan.cells[ask.cell]
        self._store.save_cell(
            self._plan.id,
            result
            or CellResult(
                order=self._order, round=self._rounds.get(ask.cell, 0), cell=cell.key, kind=StepKind.MEASURE.value,
                layer=cell.layer, workload_key=cell.workload.key, result=None, error=error,
            ),
        )  # fmt: skip
        self._order += 1


def _whole_bins(seconds: float) -> float:
    return max(1, round(seconds / BIN_S)) * BIN_S
