"""The runner of every use case: measures what a strategy asks for at one site, and commits it before the next step.

What is measured next (`strata.run`: the rounds of a plan, the visits of a matrix, one step) and where (`Site`) are
given to it. Before a step that writes it asks whether the data is still Strata's own; beside every step it reads the
counters of all nodes; the run in the store is kept as it says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

from strata import units
from strata.app.circumstances import environment
from strata.app.driver import Driver, Hear, Here
from strata.app.sampling_scope import SamplingScope
from strata.app.scale_points import pieces_at
from strata.engine import Engine, Piece, Request, Timing
from strata.engine.cell import Prepared
from strata.engine.port import Keeping
from strata.errors import ClientsLost, RunFailed, StoreError
from strata.host.clock import now_unix_ns
from strata.model import histogram
from strata.model.placement import Placement
from strata.model.plan import Cell, Plan, Step
from strata.model.precondition import Preconditioned
from strata.model.progress import Glance, Phase, Progress
from strata.model.result import CellResult, Interval
from strata.model.run import Label, Run, RunStatus
from strata.run.execute import Finish, Strategy, execute
from strata.run.judge import result_of

if TYPE_CHECKING:
    from strata.store import Store

Emit = Callable[[Progress], None]
QUICK_GENERATOR = Timing(ramp_s=0.02, runtime_s=0.05, interval_s=0.05)
"""Of the load generator's own limit, where many cells or several days share it."""
MEASURING_GENERATOR = Progress(phase=Phase.GENERATOR, message="measuring the load generator alone")
Change = Callable[[Request], Request]


class Site(Protocol):
    """Where a run is measured, once the safety gate let it: a place with its layers, or the targets of one layer."""

    @property
    def allow_write(self) -> bool:
        """Whether a device may be opened for writing."""

    def pieces(self, layer: str) -> tuple[Piece, ...]:
        """What is driven there, the first target first."""

    def check_still_ours(self, layer: str) -> None:
        """Raises `SafetyRefusal` where what is to be written to is not Strata's own any more."""

    def cpus(self, layer: str) -> tuple[int, ...]:
        """Those that the process which drives the layer may use."""

    def gone(self) -> str | None:
        """In words, when a name does not lead any more to the file that was checked."""


class Runner:
    """One run. ``store`` None: nothing is kept before its end, and whoever has it measured keeps it then.

    ``sampling`` says what is sampled beside the cells of a layer that this process drives; ``driver`` is what drives
    them where that is not so.
    """

    def __init__(
        self,
        site: Site,
        engine: Engine,
        store: Store | None,
        sampling: Callable[[str], SamplingScope],
        emit: Emit = lambda _: None,
        stop_requested: Callable[[], bool] = lambda: False,
        driver: Driver | None = None,
    ) -> None:
        self.site, self.engine = site, engine
        self.driver = driver or Here(engine, sampling)
        self.stop_requested = stop_requested
        self.run: Run | None = None
        self._store, self._tell = store, emit
        self._ends_at: float | None = None
        self._kept: dict[int, CellResult] | None = {} if store is None else None
        self.unsaved: tuple[CellResult, ...] = ()
        """What the store could not take."""

    def emit(self, progress: Progress) -> None:
        """Tell whoever watches; between two estimates of the time left, the clock counts it down."""
        now = time.monotonic()
        if progress.seconds_left is not None:
            self._ends_at = now + progress.seconds_left
        elif self._ends_at is not None and progress.step is not None:
            progress = progress.model_copy(update={"seconds_left": max(0.0, self._ends_at - now)})
        self._tell(progress)

    def begin(self, run: Run, *, anew: bool) -> Run:
        """The run is in the store from here on; ``anew`` says that it was not."""
        if self._store is not None:
            (self._store.create_run if anew else self._store.update_run)(run)
        self.run = run
        return run

    def kept_in(self, store: Store | None) -> None:
        """Where its results go; before any is there."""
        self._store, self._kept = store, {} if store is None else None

    def running(self) -> Run:
        """The run, once it has begun."""
        assert self.run is not None, "it has not begun"
        return self.run

    def keep(self, **changed: object) -> Run:
        """The run as it is from now on, in the store too."""
        return self.begin(self.running().model_copy(update=changed), anew=False)

    def say(self, *said: str | None) -> str | None:
        """The run's message with these behind it, each once."""
        return "; ".join(dict.fromkeys(m for m in (self.running().message, *said) if m)) or None

    def cells(self) -> tuple[CellResult, ...]:
        """Every result of the run, as the store has them; read once, because a deep stack has a great many counters."""
        if self._kept is None:
            assert self._store is not None
            self._kept = {c.order: c for c in self._store.cells(self.running().id)}
        return tuple(self._kept[order] for order in sorted(self._kept))

    def commit(self, result: CellResult) -> None:
        """On stable storage, and remembered."""
        if self._store is not None:
            self._store.save_cell(self.running().id, result)
        if self._kept is not None:
            self._kept[result.order] = result
        if self.run is not None and isinstance(self.engine, Keeping) and result.result is not None:
            self.engine.stored(kept_name(self.run.id, result))

    def commit_or_hold(self, result: CellResult) -> None:
        """As `commit`; where the store cannot take it, it is remembered here, and clients keep theirs."""
        try:
            self.commit(result)
        except StoreError:
            self._store, self._kept, self.unsaved = None, {result.order: result}, (result,)

    @property
    def unkept(self) -> str | None:
        """In words, which nodes kept no results of their clients on their disks."""
        missing = self.engine.unkept if isinstance(self.engine, Keeping) else {}
        return "; ".join(f"node {n} kept no results on its disk: {why}" for n, why in missing.items()) or None

    def carry_out(
        self,
        strategy: Strategy,
        measure: Callable[[Step, Cell], CellResult],
        *,
        commit: Callable[[CellResult], None] | None = None,
        emit: Emit | None = None,
        finished: Callable[[Finish], None] | None = None,
        precondition: Callable[[Cell], Preconditioned] | None = None,
    ) -> RunStatus:
        """All that ``strategy`` asks for, as `execute` has it; ``commit`` and ``emit`` in place of the runner's own."""
        return execute(
            strategy,
            measure=measure,
            commit=commit or self.commit,
            emit=emit or self.emit,
            stop_requested=self.stop_requested,
            finished=finished,
            precondition=precondition,
        )

    def ready(
        self, step: Step, cell: Cell, timing: Timing, placement: Placement | None, change: Change | None = None
    ) -> Prepared:
        """The cell as it can start now. ``change`` is made to the request of an experiment's changed cell.

        Raises as `prepare_cell`, and `SafetyRefusal` where it writes to what is not Strata's own any more.
        """
        if cell.workload.rw.writes:
            self.site.check_still_ours(cell.layer)
        request = self.request(cell, timing, step.round, placement)
        prepared = self.driver.ready(cell.layer, change(request) if change is not None and step.changed else request)
        if self.run is None or not isinstance(self.engine, Keeping):
            return prepared
        named = prepared.request.model_copy(update={"kept_as": kept_name(self.run.id, step)})
        return replace(prepared, request=named)

    def measure_cell(self, step: Step, cell: Cell, prepared: Prepared, hear: Hear) -> CellResult:
        """One step, with the counters of all nodes beside it. Raises what the engine raises."""
        result, beside = self.driver.measured(cell.layer, prepared, hear, self.stop_requested)
        return result_of(step, cell, result, **beside)

    def request(self, cell: Cell, timing: Timing, index: int, placement: Placement | None) -> Request:
        """What the engine is asked; each ``index`` draws other offsets."""
        first, *others = pieces_at(cell, self.site.pieces(cell.layer))
        return Request(
            endpoint=first.endpoint,
            workload=cell.workload,
            segments=first.segments,
            timing=timing,
            allow_write=self.site.allow_write,
            round_index=index,
            placement=placement,
            more=tuple(others),
        )


def run_of(plan: Plan, engine: Mapping[str, Any], label: Label, resumed: Run | None = None, **found: Any) -> Run:
    """A run that begins now, or goes on; ``found``: further fields of `Run`."""
    begun = resumed.created_unix_ns if resumed else now_unix_ns()
    return Run(
        id=plan.id,
        plan=plan,
        environment=environment(dict(engine), resumed),
        label=resumed.label if resumed else label,
        **{"status": RunStatus.RUNNING, "created_unix_ns": begun, **found},
    )


def kept_name(run: str, of: Step | CellResult) -> str:
    """Under which clients keep the result of a step: a round of a cell is one result, whatever was done before it."""
    return f"{run}.{sha256(f'{of.cell} {of.round}'.encode()).hexdigest()[:16]}"


def check_nodes(resumed: Run | None, engine: Mapping[str, object]) -> None:
    """Raises `ClientsLost` where a run that is resumed had other nodes: its clients would share them otherwise."""
    was, now = resumed.environment.engine.get("nodes") if resumed else None, engine.get("nodes")
    if resumed and was != now:
        before = "this machine" if was is None else f"{was} nodes"
        why, hint = f"it was measured on {before}, and {now or 'none'} have joined", "strata node list shows them"
        raise ClientsLost("cannot resume", resumed.id, why, hint)


def check_resumable(resumed: Run | None, engine: Mapping[str, Any]) -> None:
    """Raises `RunFailed` where figures of this ``engine`` do not belong into the run."""
    was, here = resumed.environment.engine.get("version") if resumed else None, engine.get("version")
    if resumed and was not in (None, here):
        why = f"it was measured with {was}, but the engine here is {here}"
        raise RunFailed("cannot resume", resumed.id, why, "start a new run")


def check_layers(resumed: Run | None, dropped: Mapping[str, str]) -> None:
    """Raises `RunFailed` where a layer of the run is among those that can no longer be measured (``dropped``: why)."""
    lost = [layer.name for layer in resumed.plan.stack.layers if layer.name in dropped] if resumed else []
    if resumed and lost:
        why = "; ".join(f"{name} can no longer be measured: {dropped[name]}" for name in lost)
        hint = "resume with the permissions and mounts the run began with, or start a new run"
        raise RunFailed("cannot resume", resumed.id, why, hint)


def rates(interval: Interval) -> dict[str, float]:
    """What `Progress` says of an interval: of both directions together."""
    seconds = (interval.end_ns - interval.start_ns) / 1e9
    ops, size = interval.read.ops + interval.write.ops, interval.read.bytes + interval.write.bytes
    return {"iops": ops / seconds, "bytes_per_second": size / seconds} if seconds else {}


def times(interval: Interval) -> dict[str, float]:
    """What `Progress` says of the service times of an interval, both directions together; nothing of one in which no
    I/O came back, as in a stall."""
    merged = histogram.merge([interval.read.service_time, interval.write.service_time])
    if merged is None or not interval.read.ops + interval.write.ops:
        return {}
    p50, p99 = histogram.quantiles(merged, [0.5, 0.99])
    return {"p50_ns": p50, "p99_ns": p99}


class Precision(Protocol):
    """What knows how well a mean is known."""

    def half_width(self) -> float | None:
        """As a share of it; None before the first look."""


def as_progress(emit: Emit, layer: str, label: str, longest_s: float, precision: Precision | None = None) -> Hear:
    """Tells ``emit`` of the intervals of one measurement; ``longest_s`` is the most it may take, without its ramp."""

    def told(done: Interval, now: Glance) -> None:
        left = max(0.0, longest_s - done.end_ns / units.NS_PER_S)
        if done.clients:
            now = now.model_copy(update={"clients": done.clients})
        half_width = None if precision is None else precision.half_width()
        known = Progress(
            phase=Phase.MEASURE, layer=layer, label=label, seconds_left=left, now=now, half_width=half_width
        )  # fmt: skip
        emit(known.model_copy(update={**rates(done), **times(done)}))

    return told
