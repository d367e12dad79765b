"""Strata for programs: the commands `survey`, `measure`, `diagnose`, `compare` and `report` as functions.

``import strata`` gives them. Each takes what its command takes and returns the value whose JSON the command prints with
``--json``: a frozen pydantic value, ``value.model_dump_json(indent=2)`` is that document. Sizes are bytes, times are
seconds where the name ends in ``_s`` and nanoseconds where it ends in ``_ns``, rates are per second. What is left out
has the command's default.

Nothing is printed and no question is asked: a password comes from the environment. Only what a command would
write is written: its own test file, the store. Every failure is a `strata.errors.StrataError` that says what,
where, why and the next step. An option that cannot be honoured is refused with `UsageError`.

::

    import strata

    found = strata.diagnose("/mnt/volume", read_only=True)
    print(found.verdict.layer, found.verdict.cause, found.verdict.confidence)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypedDict, Unpack

from pydantic import ValidationError

from strata.app import compare as app_compare
from strata.app import diagnose as app_diagnose
from strata.app import kept
from strata.app import matrix as app_matrix
from strata.app import measure as app_measure
from strata.app import survey as app_survey
from strata.app.circumstances import called
from strata.app.clients import Engine, engine_of_nodes
from strata.app.documents import Kept, read_document
from strata.app.matrix_plan import MatrixWords
from strata.app.measure import OneResult, dealt, workload_from_words
from strata.app.options import Options, check_budget, unsaid
from strata.app.profiles import find_profile
from strata.app.until import aim_of
from strata.app.where import file_or_directory, is_endpoint, understood
from strata.errors import UsageError
from strata.model.compared import ComparedRuns
from strata.model.course import Aim
from strata.model.margin import MARGIN
from strata.model.matrix import MatrixResult
from strata.model.placement import Placement
from strata.model.profile import Profile
from strata.model.progress import Progress
from strata.model.remembered import Wanted
from strata.model.run import Label, Report
from strata.model.stack import Stack
from strata.model.survey import Survey
from strata.model.workload import Workload
from strata.report.json_ import Document, document

__all__ = [
    "Aim", "ComparedRuns", "DiagnoseOptions", "Document", "Label", "MatrixResult", "MatrixWords", "MeasureOptions",
    "OneResult", "Placement", "Profile", "Progress", "RunOptions", "Stack", "Survey", "Workload", "compare", "diagnose",
    "load", "measure", "survey",
]  # fmt: skip

Where = Stack | Path | str
"""A directory or a stack file (``.toml``) by its path, or a stack."""
_Emit = Callable[[Progress], None]


class RunOptions(TypedDict, total=False):
    """What `measure` and `diagnose` both take: fields of `strata.app.options.Options`, where the defaults stand."""

    rounds: int
    """Interleaved repetitions of every cell; they give the intervals."""
    ramp_s: float
    """Run before measuring starts, and not counted."""
    runtime_s: float
    """Measured time of one cell in one round."""
    size: int | None
    """Bytes of the test file; None: chosen."""
    layers: tuple[str, ...] | None
    """Only these layers of the stack."""
    workloads: tuple[str, ...] | None
    """Only these of the usual workloads, by name or glob."""
    read_only: bool
    """No workload that writes; the test file is still filled."""
    share: bool
    """Add a share of the same file over loopback; of a directory only."""
    keep: bool
    """Leave the test file in place."""
    label: Label
    """Name and note of the run in the store."""
    trace: bool
    """Then trace the devices for a moment (root)."""
    placement: Placement | None
    """Processors or NUMA nodes of the threads."""
    nodes: str | None
    """Address of a scheduler, on whose nodes the clients of a workload run, and each layer of a stack is driven."""
    precondition_s: float | None
    """Write before measuring until the rate is steady, for at most so many seconds."""
    precondition_bytes: int | None
    """Most bytes that preconditioning writes; by itself it asks for preconditioning too."""
    cooldown_s: float
    """Idle time between two measurements."""
    seed: int
    """Of offsets and order."""
    store: str | None
    """Database URL or file; None: the command's."""
    engine: str
    """What generates the load: native, fio or auto."""


class MeasureOptions(RunOptions, total=False):
    """What only `measure` takes."""

    interval_s: float | None
    """Length of the reported intervals."""


class DiagnoseOptions(RunOptions, total=False):
    """What only `diagnose` takes."""

    confirm: bool
    """Run the experiments that would refute the verdict."""
    budget_s: float | None
    """Time for further rounds and experiments."""
    only: tuple[Workload, ...]
    """These workloads in place of the usual set."""


_PLACED = frozenset({"size", "placement", "engine", "seed", "keep", "store", "label"})
_TIMED = frozenset({"ramp_s", "runtime_s", "precondition_s", "precondition_bytes"})
_NODES = frozenset({"nodes"})
_LAYERED = _PLACED | _TIMED | {"rounds", "layers", "workloads", "read_only", "cooldown_s", "trace"}
_DIAGNOSED = _LAYERED | {"confirm", "budget_s", "only"}
_TAKES: dict[tuple[str, str], frozenset[str]] = {
    ("measure", "one endpoint"): _PLACED | _TIMED | _NODES | {"interval_s", "trace"},
    ("measure", "several endpoints"): _PLACED | _TIMED | _NODES | {"interval_s"},
    ("measure", "a directory"): _LAYERED | {"interval_s", "share"},
    ("measure", "a stack"): _LAYERED | _NODES | {"interval_s"},
    ("matrix", "one endpoint"): _PLACED | _NODES | {"read_only"},
    ("matrix", "a directory"): _PLACED | _NODES | {"read_only", "layers", "share"},
    ("matrix", "a stack"): _PLACED | _NODES | {"read_only", "layers"},
    ("diagnose", "a directory"): _DIAGNOSED | {"share"},
    ("diagnose", "a stack"): _DIAGNOSED | _NODES,
    ("diagnose", "a demo"): _DIAGNOSED - {"size", "layers", "keep", "trace"},
}
"""By use and place, the options that mean something there. The command line's are in `strata.cli.tables`."""


def survey(where: Where = Path()) -> Survey:
    """What is under a path or the data of a stack: device chain, file system, caches, limits, load, with notices.

    Takes half a second, in which the load of the machine is looked at. Raises `UsageError` where nothing is there.
    """
    return app_survey.survey_path(where if isinstance(where, Stack) else str(where))


def diagnose(
    where: Where | None = None,
    *,
    demo: str | None = None,
    profile: Profile | Path | str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    **options: Unpack[DiagnoseOptions],
) -> Document:
    """Measure every layer under ``where`` with the same workload on the same data, and name what limits it.

    ``demo`` rehearses on a modelled stack with a known limit instead. ``profile``: the workloads of an application and
    its goals, by name, as a file or as a value. Where neither rounds nor times are given every cell is looked at
    briefly, and again where it matters. ``on_progress`` is called with each event, from this thread.

    A verdict that is not there is in the document (``verdict.kind`` is ``inconclusive``), not raised. Raises
    `UsageError`, `SafetyRefusal`, `RunFailed`, and `Stopped` for a signal; finished cells are in the store then.
    """
    if (where is None) == (demo is None):
        raise UsageError("cannot diagnose:", "name one of where and demo")
    given: dict[str, Any] = dict(options)
    _refuse("diagnose", "a demo" if demo is not None else _place(where), given)
    if profile is not None and given.get("only"):
        raise UsageError("cannot use together:", "profile and only", "both name the workloads", "leave one of them out")
    found = find_profile(str(profile)) if isinstance(profile, (Path, str)) else profile
    chosen = _options(unsaid(given, demo=demo is not None), given | {"profile": found})
    check_budget(chosen)
    emit = on_progress or (lambda _: None)
    with called():
        if demo is not None:
            return document(app_diagnose.diagnose_demo(demo, chosen, emit))
        if where is not None and not isinstance(where, Stack):
            where = file_or_directory(where)
        assert isinstance(where, (Stack, Path))
        return document(app_diagnose.diagnose_path(where, chosen, emit))


def measure(
    where: Where | Sequence[str],
    workload: Workload | Mapping[str, Any] | Sequence[Workload] | None = None,
    *,
    until: Aim | str | None = None,
    matrix: MatrixWords | str | None = None,
    destructive: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    **options: Unpack[MeasureOptions],
) -> OneResult | Document | MatrixResult:
    """One workload against an endpoint, or every layer of a directory or stack in interleaved rounds.

    ``where``: an endpoint (``file:/…``, ``nbd://…``), several of one kind that are loaded together, a directory, a
    stack file or a stack. ``workload``: a value, or words by the names of `strata.model.workload_options`
    (``{"rw": "randread", "bs": "8k", "iodepth": 8}``); several of layers only. Without one an endpoint gets random
    reads of 4 KiB, layers get the usual set.

    ``until``: go on until the 95 % interval of the mean is that narrow (``"2%"``), or as an `Aim` says; ``runtime_s``
    is then the most it may take. ``matrix``: a table of cells in one budget, by name or with all that is asked of it
    (a stack is then named by its file). ``destructive``: the name of a raw device or foreign export, typed again, whose
    data may be lost.

    Returns `OneResult` of endpoints, `Document` of layers, `MatrixResult` of a matrix. SIGINT and SIGTERM end a
    measurement of endpoints, and ``stopped_by`` says so. Raises as `diagnose`, and `InconclusiveError` where a matrix
    cannot be as precise as asked.
    """
    given: dict[str, Any] = dict(options)
    emit = on_progress or (lambda _: None)
    several = not isinstance(where, (Stack, Path, str))
    places = [where] if isinstance(where, (Stack, Path, str)) else list(where)
    named = [p if isinstance(p, Stack) else understood(str(p)) for p in places]
    if several and not (named and all(isinstance(n, str) and is_endpoint(n) for n in named)):
        raise UsageError("several targets are endpoints:", ", ".join(map(str, named)), "", "file:/a and file:/b")
    first = named[0]
    place = "several endpoints" if len(named) > 1 else _place(first)
    _refuse("measure" if matrix is None else "matrix", place, given)
    alone = isinstance(first, str) and is_endpoint(first)
    several_ends = len(named) > 1 or None
    _apart({"matrix": matrix, "several endpoints": several_ends, "workload": workload, "until": until}, "matrix")
    if not alone:
        _apart({"layers": True, "until": until, "destructive": destructive}, "layers")
    with called():
        if matrix is not None:
            nodes = given.pop("nodes", None)
            return _matrix(first, matrix, destructive, nodes, _options(Options(), given), emit)
        if alone:
            nodes = given.pop("nodes", None)
            return _endpoints(tuple(map(str, named)), workload, until, destructive, nodes, given, emit)
        chosen = _options(Options(), given | {"only": _only(workload, given), "confirm": False})
        return document(app_diagnose.diagnose_path(first if isinstance(first, Stack) else Path(first), chosen, emit))


def compare(
    a: Document | str,
    b: Document | str | None = None,
    *,
    store: str | None = None,
    margin: float = MARGIN,
    between_runs: float | None = None,
    anyway: bool = False,
) -> ComparedRuns:
    """Two runs of the store compared, cell by cell: ``b`` (the newest) with ``a``.

    By ids or their beginnings, or as documents of runs that are in the store. ``margin``: the share of the IOPS up to
    which two cells count as equal; ``between_runs``: what equal runs differ by, learnt from the store where it is not
    said. Raises `InconclusiveError` where the environments forbid it, unless ``anyway``, and where no cell is in both;
    `UsageError` for a run that is not there.
    """
    return app_compare.compare_runs(
        _run_of(a), None if b is None else _run_of(b), store, margin=margin, between_runs=between_runs, anyway=anyway
    )


def load(what: Path | str | None = None, *, store: str | None = None) -> Kept:
    """A run of the store, or a JSON document from a file.

    ``what``: the id of a run, its beginning, or the name the run was given (the newest of that name); None: the newest
    run. A `Path`, and a text that ends in ``.json``, is a file that ``--json`` printed: it comes back as the value it
    was printed from, whatever command that was. Raises `UsageError` where nothing is there, and `InconclusiveError`
    for a run without an outcome.
    """
    if isinstance(what, Path) or (what is not None and what.endswith(".json")):
        return read_document(Path(what))
    try:
        found = kept.load_kept(what, store)
    except UsageError:
        heads = kept.list_runs(1, store, Wanted(name=what))[0] if what else ()
        if not heads:
            raise
        found = kept.load_kept(heads[0].id, store)
    return document(found) if isinstance(found, Report) else found


def _place(where: Where | None) -> str:
    if isinstance(where, Stack) or str(where).endswith(".toml"):
        return "a stack"
    return "one endpoint" if isinstance(where, str) and is_endpoint(where) else "a directory"


def _refuse(use: str, place: str, given: Mapping[str, Any]) -> None:
    """Raises as Python does for an unknown keyword, and `UsageError` for one that would change nothing here."""
    known = MeasureOptions if use != "diagnose" else DiagnoseOptions
    for name in given:
        if name not in known.__annotations__ and name not in RunOptions.__annotations__:
            raise TypeError(f"{'diagnose' if use == 'diagnose' else 'measure'}() got an unexpected keyword {name!r}")
    takes = _TAKES.get((use, place), frozenset[str]())
    if not takes:
        # What a diagnosis says of an endpoint leads on; a matrix takes one place.
        return
    if dropped := [name for name in given if name not in takes]:
        raise UsageError(f"cannot use with {place}:", ", ".join(dropped), "it would change nothing", "leave it out")


def _apart(given: Mapping[str, Any], alone: str) -> None:
    """Raises `UsageError` where something is given beside ``alone``, which excludes it."""
    others = [name for name, value in given.items() if name != alone and value is not None]
    if given[alone] is not None and others:
        raise UsageError("cannot use together:", f"{alone} and {', '.join(others)}", "", "leave one of them out")


def _options(unsaid: Options, given: Mapping[str, Any]) -> Options:
    try:
        return Options(**{**dict(unsaid), **given})
    except ValidationError as e:
        problems = tuple(f"{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in e.errors())
        raise UsageError("invalid options:", "", "", "", problems) from e


def _run_of(asked: Document | str) -> str:
    return asked.run.id if isinstance(asked, Document) else asked


def _workload(asked: Workload | Mapping[str, Any] | None, given: Mapping[str, Any]) -> Workload:
    if isinstance(asked, Workload):
        return asked
    return workload_from_words(**{"seed": given.get("seed", Options().seed), **(asked or {})})


def _only(
    asked: Workload | Mapping[str, Any] | Sequence[Workload] | None, given: Mapping[str, Any]
) -> tuple[Workload, ...]:
    if asked is None:
        return ()
    if isinstance(asked, (Workload, Mapping)):
        return (_workload(asked, given),)
    return tuple(asked)


def _matrix(
    where: Stack | str,
    asked: MatrixWords | str,
    destructive: str | None,
    nodes: str | None,
    options: Options,
    emit: _Emit,
) -> MatrixResult:
    if isinstance(where, Stack):
        raise UsageError("cannot measure a matrix of", where.name, "it is a value", "name its stack file")
    words = MatrixWords(matrix=asked) if isinstance(asked, str) else asked
    if destructive is not None:
        words = words.model_copy(update={"destructive": destructive})
    return app_matrix.measure_matrix(where, words, options, emit, nodes=nodes)


def _endpoints(
    uris: tuple[str, ...],
    asked: Workload | Mapping[str, Any] | Sequence[Workload] | None,
    until: Aim | str | None,
    destructive: str | None,
    nodes: str | None,
    given: dict[str, Any],
    emit: _Emit,
) -> OneResult:
    if asked is not None and not isinstance(asked, (Workload, Mapping)):
        raise UsageError("one endpoint takes one workload:", ", ".join(w.key for w in asked), "", "name a directory")
    workload = _workload(asked, given)
    if len(uris) > 1 and not workload.shares:
        workload = dealt(workload, (1,) * len(uris), workload.deal)
    longest = given.get("runtime_s")
    aim = aim_of(until, None, None, longest, None) if isinstance(until, str) else until
    if isinstance(until, Aim) and longest is not None:
        aim = until.model_copy(update={"seconds_max": longest})
    timing = app_measure.timing_of(given.get("ramp_s"), longest, given.get("interval_s"), aim)
    usual = Options()
    names = ("size", "keep", "placement", "trace", "store", "label")
    with ExitStack() as held:
        engine: str | Engine = given.get("engine", usual.engine)
        if nodes is not None:
            engine = held.enter_context(engine_of_nodes(nodes, str(engine)))
        return app_measure.measure_endpoint(
            uris,
            workload,
            timing,
            destructive=destructive,
            aim=aim,
            emit=emit,
            precondition=(given.get("precondition_s"), given.get("precondition_bytes")),
            engine=engine,
            **{name: given.get(name, getattr(usual, name)) for name in names},
        )
