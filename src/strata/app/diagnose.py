"""The main job: a path or a stack file in, a report out."""

from __future__ import annotations

import fnmatch
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from strata import units
from strata.app.demos import DEMO_PREFIX, Scenario, demo_of, scenario
from strata.app.driver import Driver
from strata.app.experiment import experimented
from strata.app.kept import opened, report_of
from strata.app.live import recorded
from strata.app.options import Options, check_size, choose_size
from strata.app.place import Place
from strata.app.plan import plan_of, refused_cells
from strata.app.runner import Emit
from strata.app.session import Session
from strata.app.stacks import DISK, asked_of, data_path_of, keep_layers, local_stack, no_nodes, read_stack
from strata.app.stages import diagnose_stages
from strata.app.where import file_or_directory
from strata.discover.stackfile import no_disk_layer
from strata.discover.survey import survey
from strata.engine import Piece, Shaping, engine_for
from strata.errors import RunFailed, SafetyRefusal, Stopped, StrataError, UsageError
from strata.host import safety, testfile
from strata.host.mark import Mark, read_mark
from strata.host.runlock import held
from strata.model.endpoint import OWN_SERVER
from strata.model.expect import Expect
from strata.model.plan import Plan
from strata.model.progress import Phase, Progress
from strata.model.run import Report, Run, RunStatus
from strata.model.stack import Layer, Stack
from strata.model.survey import Survey
from strata.model.survey_compared import ComparedSurveys
from strata.model.workload import Sync, Workload
from strata.plan.ident import new_id
from strata.plan.workloads import DIAGNOSE

if TYPE_CHECKING:
    from strata.app.driven.opening import Driven

DEMO_SIZE = 64 * units.MIB


@dataclass(frozen=True)
class DiagnosisInput:
    """What to measure: stack, survey, where the data goes, and limits of servers that Strata starts itself."""

    stack: Stack
    survey: Survey
    data_path: Path
    shapes: Mapping[str, Shaping] = field(default_factory=dict)
    direct: bool = True
    workloads: tuple[Workload, ...] = DIAGNOSE
    left_out: Mapping[str, str] = field(default_factory=dict)
    driven: Driven | None = None
    """The nodes that drive the layers; None: this process does."""

    def place(self, workloads: Iterable[Workload]) -> Place:
        """Where it is measured with these; nothing is made yet."""
        writes = any(w.rw.writes for w in workloads)
        if self.driven is not None:
            return self.driven.place(self.stack, self.data_path, run=new_id(), direct=self.direct, writes=writes)
        place = Place(self.stack, self.data_path, self.shapes, direct=self.direct, writes=writes)
        place.dropped.update(self.left_out)
        return place

    def driver(self, place: Place) -> Driver | None:
        """What carries out a cell there; None: this process."""
        return None if self.driven is None else self.driven.driver(place)

    def compared(self, emit: Emit) -> ComparedSurveys | None:
        """In what the nodes that drive the layers differ. One that does not tell keeps nothing from being measured."""
        if self.driven is None:
            return None
        emit(Progress(phase=Phase.SURVEY, message="comparing the nodes"))
        try:
            return self.driven.compared(self.stack)
        except StrataError as e:
            emit(Progress(phase=Phase.SURVEY, message=f"the nodes were not compared: {e.headline}"))
            return None

    def mark(self) -> Mark | None:
        """Of the test file that is there already."""
        return read_mark(self.data_path) if self.driven is None else self.driven.there.mark

    def was_kept(self) -> bool:
        """Whether that is the user's."""
        return testfile.was_kept(self.data_path) if self.driven is None else self.driven.there.kept


@contextmanager
def opened_source(where: Path | Stack, options: Options, run_id: str) -> Iterator[DiagnosisInput]:
    """As `source_of`; the nodes of a stack that names a scheduler, or is given one, are asked until the block ends."""
    if isinstance(where, Path) and where.suffix != ".toml":
        if options.nodes is not None:
            raise no_nodes(where, "measured")
        yield source_of(where, options, run_id)
        return
    stack = stack_asked(where, options)
    if stack.scheduler is None:
        yield source_of(stack, options.model_copy(update={"layers": None}), run_id)
        return
    # Here: the cluster's library takes more than a second to load.
    from strata.app.driven.opening import driven

    path = data_path_of(stack)
    # The nodes run the same engine as whoever asks.
    engine = engine_for(options.engine, map(stack.endpoint_of, stack.layers), options.placement).name
    with driven(stack, path, options.load_seconds, engine) as nodes:
        yield DiagnosisInput(stack, nodes.there.survey, path, driven=nodes)


def stack_asked(where: Path | Stack, options: Options) -> Stack:
    """With the layers and the scheduler that are asked for. Raises `UsageError`."""
    stack = keep_layers(where if isinstance(where, Stack) else read_stack(where), options.layers)
    return asked_of(stack, options.nodes)


def source_of(where: Path | Stack, options: Options, run_id: str) -> DiagnosisInput:
    """A directory becomes its own local stack; a `.toml` file is read. Writes nothing."""
    if isinstance(where, Stack) or where.suffix == ".toml":
        stack = keep_layers(where if isinstance(where, Stack) else read_stack(where), options.layers)
        data_path = data_path_of(stack)
        return DiagnosisInput(stack, survey(data_path.parent, options.load_seconds), data_path)
    if not where.is_dir():
        where = _directory_of_ours(where)
    where = where.resolve()
    platform = survey(where, options.load_seconds)
    data_path = where / f"strata-{run_id}.dat"
    why = no_disk_layer(platform)
    stack = local_stack(platform, data_path, share=options.share, allow_raw=why is None)
    left_out = {} if why is None or options.layers is not None else {DISK: why}
    return DiagnosisInput(keep_layers(stack, options.layers), platform, data_path, left_out=left_out)


def _directory_of_ours(where: Path) -> Path:
    """The directory of a file that is Strata's own. Raises `SafetyRefusal` (exit 5) for every other one."""
    try:
        safety.check_own_file(file_or_directory(where))
    except SafetyRefusal as e:
        beside = f"strata diagnose {shlex.quote(str(where.parent))} creates its own file beside it"
        reads = f"strata measure {shlex.quote(f'file:{where.absolute()}')} --rw randread reads this file"
        raise SafetyRefusal(e.what, e.where, e.why, f"{beside}; {reads}", e.problems) from e
    return where.parent


@contextmanager
def demo_source(chosen: Scenario) -> Iterator[DiagnosisInput]:
    """A modelled medium and a share of it, served by two targets over the same file in memory."""
    service = {
        "service_threads": chosen.medium.servers,
        "service_time_ns": round(chosen.medium.service_time_us * 1000),
    }
    wire = chosen.wire
    bandwidth = None if wire.bandwidth_mib_s is None else round(wire.bandwidth_mib_s * units.MIB)
    shapes = {
        "medium": Shaping(**service),
        "share": Shaping(
            **service, bandwidth_bytes_per_s=bandwidth, latency_ns=round(wire.round_trip_us * 1000), iops=wire.iops_cap
        ),
    }
    allowance = Expect(overhead_max=0.15, source="a remote path costs 10–15 % where it is CPU-bound")
    stack = Stack(
        name=f"{DEMO_PREFIX}{chosen.name}",
        layers=(
            Layer(name="medium", endpoint=f"nbd://{OWN_SERVER}medium"),
            Layer(name="share", endpoint=f"nbd://{OWN_SERVER}share", on=("medium",), expect=allowance),
        ),
    )
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="strata-demo-", dir=memory if memory.is_dir() else None) as folder:
        path = Path(folder)
        # The medium is modelled by the target; write-through would add this machine's own disk to it.
        workloads = tuple(w.model_copy(update={"sync": Sync.NONE}) for w in DIAGNOSE)
        yield DiagnosisInput(
            stack, survey(path, 0.2), path / "demo.dat", shapes=shapes, direct=False, workloads=workloads
        )


def plan_only(where: Path, options: Options) -> Plan:
    """What `diagnose` would run, and every byte it would write; nothing is created."""
    run_id = new_id()
    with opened_source(where, options, run_id) as source:
        return _planned(source, options, run_id)


def _planned(source: DiagnosisInput, options: Options, run_id: str) -> Plan:
    size, _ = data_size(source, options)
    workloads = chosen_workloads(source.workloads, options)
    # Where the data will lie is not known before it is written: what only that decides shows when it is run.
    refused = refused_cells(
        engine_for(options.engine, map(source.stack.endpoint_of, source.stack.layers), options.placement),
        workloads,
        {x.name: Piece(endpoint=source.stack.endpoint_of(x), segments=()) for x in source.stack.layers},
    )
    return plan_of(source.stack, workloads, options, run_id, size, refused)


def diagnose_path(where: Path | Stack, options: Options, emit: Emit) -> Report:
    """survey → plan → measure every layer → compare → name → confirm. Layers that were measured before are not
    measured again."""
    if isinstance(where, Path) and where.suffix == ".toml":
        stack = keep_layers(read_stack(where), options.layers)
        if stack.staged:
            if options.nodes is not None:
                why = "its layers were measured before"
                raise UsageError("cannot use --nodes with", str(where), why, "leave --nodes out")
            return diagnose_stages(where, stack, options.store, options.label)
    run_id = new_id()
    name = where.name if isinstance(where, Stack) else where
    emit(Progress(phase=Phase.SURVEY, message=f"examining what is below {name}"))
    with opened_source(where, options, run_id) as source:
        return _carry_out(source, options, emit, run_id)


def diagnose_demo(name: str, options: Options, emit: Emit) -> Report:
    """The same pipeline against servers with a known limit."""
    with demo_source(scenario(name)) as source:
        return _carry_out(source, options.model_copy(update={"size": DEMO_SIZE}), emit, new_id())


def unfinished(run_id: str | None, store_url: str | None) -> Run:
    """The run of that id, or the newest unfinished one. Raises `UsageError` where there is none."""
    with opened(store_url) as store:
        run = store.load_run(run_id) if run_id else store.latest(RunStatus.RUNNING, RunStatus.STOPPED)
    if run is None:
        raise UsageError("nothing to resume:", "no unfinished run", "", "strata runs lists all runs")
    return run


def resume(run_id: str | None, options: Options, emit: Emit) -> Report:
    """Go on with the steps that an interrupted run is missing. Without an id: the newest unfinished run."""
    run = unfinished(run_id, options.store)
    if run.data is None:
        raise RunFailed("cannot resume", run.id, "it ended before its data was written", "start a new run")
    if demo := demo_of(run.plan.stack.name):
        with demo_source(scenario(demo)) as source:
            return _carry_out(source, options, emit, run.id, resumed=run)
    if run.plan.stack.scheduler is not None:
        options = options.model_copy(update={"engine": run.environment.engine["name"]})
        with opened_source(run.plan.stack, options, run.id) as source:
            return _carry_out(source, options, emit, run.id, resumed=run)
    return _carry_out(source_again(run, options), options, emit, run.id, resumed=run)


def source_again(run: Run, options: Options) -> DiagnosisInput:
    """Of a run whose data was written: what is there of it is measured on."""
    assert run.data is not None, "it ended before that"
    data_path = Path(run.data.path)
    return DiagnosisInput(run.plan.stack, survey(data_path.parent, options.load_seconds), data_path)


def chosen_workloads(workloads: tuple[Workload, ...], options: Options) -> tuple[Workload, ...]:
    """Those whose key matches one of the asked patterns; without writes when only reading was asked."""
    asked = tuple(w.workload for w in options.profile.workloads) if options.profile is not None else ()
    workloads = options.only or asked or workloads
    patterns = options.workloads or ("*",)
    kept = tuple(
        w
        for w in workloads
        if any(fnmatch.fnmatch(w.key, p) for p in patterns) and not (options.read_only and w.rw.writes)
    )
    if not kept:
        known = ", ".join(w.key for w in workloads)
        raise UsageError("no workload matches", ", ".join(patterns), "", f"available: {known}")
    if (options.precondition_s or options.precondition_bytes) and not any(w.rw.carries for w in kept):
        raise UsageError(
            "cannot precondition:", ", ".join(w.key for w in kept), "no workload writes", "leave --precondition out"
        )
    return kept


def data_size(source: DiagnosisInput, options: Options) -> tuple[int, bool]:
    """Bytes of the test file, and whether it is there already.

    The user's own kept test file, exported by a server that is running already, is taken as it is, and left.
    """
    own = source.mark()
    if own is not None:
        check_size(str(source.data_path), options.size, own.size)
        return own.size, True
    return choose_size(source.survey.file_system.available, options.size), False


def size_of(source: DiagnosisInput, options: Options, resumed: Run | None) -> tuple[int, bool]:
    """Bytes of the test file, and whether it stays when the run is over."""
    if resumed is not None and resumed.data is not None:
        return resumed.data.size, options.keep or source.was_kept()
    size, is_kept = data_size(source, options)
    return size, options.keep or is_kept


def _carry_out(
    source: DiagnosisInput, options: Options, emit: Emit, run_id: str, *, resumed: Run | None = None
) -> Report:
    size, keep = size_of(source, options, resumed)
    options = options.model_copy(update={"keep": keep})
    if resumed is not None:
        options = options.model_copy(update={"rounds": resumed.plan.rounds, "interval_s": resumed.plan.interval_s})
    workloads = chosen_workloads(source.workloads, options)
    with (
        held(run_id),
        opened(options.store) as store,
        recorded(run_id, source.stack, emit, survey=source.survey) as told,
        Session(source, options, store, told, workloads=workloads, run=resumed) as session,
    ):
        run = session.prepare(run_id, size, source.compared(told) if resumed is None else resumed.nodes)
        status = session.measure()
        if status is RunStatus.STOPPED:
            raise Stopped("finished cells are kept", hint=f"strata measure --resume {run.id}")
        if status is RunStatus.FAILED:
            again = f"finished cells are kept; once the cause is fixed: strata measure --resume {run.id}"
            why = next((c.error for c in store.cells(run.id) if c.error), "no cell could be measured")
            raise RunFailed("the run failed:", run.id, why, again)
        analysis = session.analyse()
        analysis, diagnosis = experimented(session, analysis)
        assert session.run is not None
        return report_of(session.cells(), session.run, analysis, diagnosis)
