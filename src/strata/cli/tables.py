"""Which options each way of a command takes. What a command does in one way only is in no table: it takes them all."""

from __future__ import annotations

from pathlib import Path

from strata.cli.bundle import names
from strata.cli.bundles import Kept, Layered, Output, Placed, Several, Timed, Until, WorkloadWords
from strata.cli.usages import Parts, Usages
from strata.model.workload_options import OPTIONS


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ONE, SEVERAL, DIRECTORY, STACK, DEMO = "one endpoint", "--target", "a directory", "a stack file", "--demo"
USUAL, WORDS, JOB, PROFILE, DERIVED, MATRIX = (
    "the standard workloads", "--rw", "--job", "--profile", "--from-trace", "--matrix"
)  # fmt: skip
RESUME, LAYERS = "--resume", "a run over layers"
LIKE = "--run"

SHOWN = names(Output)
KEPT = names(Kept)
PLACED = names(Placed) | {"where"}
TIMED = names(Timed)
LAYERED = (names(Layered) - {"share"}) | TIMED
WORKLOAD = names(WorkloadWords)
CELLS = _names("matrix budget until read_only buffered sync ramp")
ASIDE = _names("seed")
"""A section of a job file brings its own."""


RUN, CHECK = "a new run", "--check"
MAKE, REVOKE = "names of nodes", "--revoke"
LIVE, SAVED = "a device or a path", "--from"
FIGURES, STORED = "a file", "a run"
SURVEYED, COMPARED = "one path", "--compare"
STATE, MEASURED = "the state", "--measure"
SAVE, PROMOTE, LIST, SHOW = "save", "promote", "list", "show"
FILE, MEMORY, NULL = "--file", "--memory", "--null"


def place_of(where: str | Path | None, *, several: bool = False) -> str:
    """What the tables call the place that was named."""
    from strata.app.where import is_endpoint

    if several:
        return SEVERAL
    if where is not None and is_endpoint(str(where)):
        return ONE
    return STACK if str(where).endswith(".toml") else DIRECTORY


def _measure() -> Usages:
    common = SHOWN | KEPT | PLACED | {"keep"}
    alone = common | TIMED | names(Until) | _names("interval verbose destructive")
    several = alone | names(Several)
    layers = common | LAYERED | _names("interval trace")
    matrix = common | CELLS | {"dsync"}
    resumed = _names("where resume") | SHOWN
    return Usages(
        {
            (ONE, WORDS): alone | WORKLOAD | {"trace", "nodes"},
            (ONE, JOB): (alone | _names("job trace")) - ASIDE,
            (ONE, MATRIX): matrix | {"destructive", "clients", "nodes"},
            (SEVERAL, WORDS): several | WORKLOAD,
            (SEVERAL, JOB): (several | {"job"}) - ASIDE,
            (DIRECTORY, USUAL): layers | {"share"},
            (DIRECTORY, WORDS): layers | {"share"} | WORKLOAD,
            (DIRECTORY, JOB): layers | _names("share job"),
            (DIRECTORY, MATRIX): matrix | _names("share layers"),
            (STACK, USUAL): layers | {"nodes"},
            (STACK, WORDS): layers | WORKLOAD | {"nodes"},
            (STACK, JOB): layers | _names("job nodes"),
            (STACK, MATRIX): matrix | _names("layers nodes"),
            (RESUME, LAYERS): resumed,
            (RESUME, MATRIX): resumed | {"destructive", "nodes"},
        },
        needs={
            **{row.parameter: (OPTIONS[row.needs].parameter,) for row in OPTIONS.values() if row.needs is not None},
            "until_percentile": ("until",), "until_min": ("until",), "until_bytes": ("until",),
        },
        apart=tuple((row.apart, row.parameter) for row in OPTIONS.values() if row.apart is not None),
    )  # fmt: skip


CHOSEN = {USUAL: _names(""), PROFILE: _names("profile"), JOB: _names("job")}
"""What the workloads of a run over layers come from, and the option that says so."""


def _everywhere(places: dict[str, frozenset[str]], cells: dict[str, frozenset[str]]) -> dict[Parts, frozenset[str]]:
    """Workloads of every kind at every place."""
    return {(p, c): there | these for p, there in places.items() for c, these in cells.items()}


def _diagnose() -> Usages:
    takes = SHOWN | KEPT | PLACED | LAYERED | _names("keep trace confirm budget")
    demo = (takes | {"demo"}) - _names("where size layers keep trace")
    return Usages(_everywhere({DIRECTORY: takes | {"share"}, STACK: takes | {"nodes"}, DEMO: demo}, CHOSEN))


def _plan() -> Usages:
    takes = PLACED | LAYERED | _names("json budget")
    matrix = PLACED | CELLS | _names("json store")
    cells = CHOSEN | {DERIVED: _names("from_trace write_profile")}
    return Usages(
        _everywhere({DIRECTORY: takes | {"share"}, STACK: takes}, cells)
        | {
            (ONE, MATRIX): matrix | {"clients"},
            (DIRECTORY, MATRIX): matrix | _names("layers share"),
            (STACK, MATRIX): matrix | {"layers"},
        }
    )


def _verify() -> Usages:
    always = _names("where journal iodepth numjobs order seed atomic stuck_after listed buffered keep json progress")
    writing = _names("passes write_share runtime flush_every journal_sync destructive")
    return Usages(
        {
            (RUN,): always | writing | _names("size bs sector dsync"),
            (CHECK,): always | _names("check power_loss"),
            (RESUME,): always | writing | _names("resume power_loss"),
        },
        needs={"journal_sync": ("journal",)},
    )  # fmt: skip


def _target() -> Usages:
    takes = _names("listen socket export bandwidth latency iops service_threads service_time fault stats")
    return Usages(
        {
            (FILE,): takes | _names("file writable buffered"),
            (MEMORY,): takes | _names("memory writable"),
            (NULL,): takes | {"null"},
        },
        apart=(("listen", "socket"),),
    )  # fmt: skip


def _emit() -> Usages:
    takes = _names("form where workloads size rounds runtime ramp seed counters destructive")
    more = {WORDS: WORKLOAD, MATRIX: _names("matrix buffered sync"), LIKE: _names("run store")}
    return Usages({(way,): takes | these for way, these in (CHOSEN | more).items()})


MEASURE, DIAGNOSE, PLAN, VERIFY, TARGET = _measure(), _diagnose(), _plan(), _verify(), _target()

EMIT = _emit()

TRACE = Usages(
    {
        (LIVE,): _names("where command seconds max_events save waterfall perfetto html nodes json"),
        (SAVED,): _names("from_ waterfall server clock perfetto html json"),
    }
)

WATCHED, EVERY, AROUND = "a watching", "--every", "--around"
_ALWAYS = _names("where json")

WATCH = Usages({
    (WATCHED,): _ALWAYS | _names("for_ command trace write_profile then_confirm store nodes"),
    (EVERY,): _ALWAYS | _names("every for_ nodes"), (AROUND,): _ALWAYS | _names("around within"),
})  # fmt: skip

CHECKED = Usages({(FIGURES,): _names("what column plan strict json"), (STORED,): _names("what strict json store")})

SURVEY = Usages({
    (SURVEYED,): _names("where json verbose write"), (COMPARED,): _names("where compare json markdown nodes"),
})  # fmt: skip

SWEEP, TABLE, TASKS, UNDER_LOAD = "a sweep", "--table", "--task", "--under-load"
_ASKED = SHOWN | _names("what_if worth")

SCALE = Usages({
    (SWEEP,): _ASKED | KEPT | PLACED | WORKLOAD
    | _names("keep over points budget until open_loop destructive target nodes make now"),
    (TABLE,): (_ASKED | _names("table column")) - {"store", "progress"},
    (LIKE,): (SHOWN | _names("what_if run")) - {"progress"},
    (TASKS,): (SHOWN | _names("where over points budget until make now task")) - {"store", "csv", "jsonl"},
    (UNDER_LOAD,): WORKLOAD | _names("where over points budget make now under_load layer verify spread")
    | _names("destructive size json progress"),
    (RESUME,): SHOWN | _names("where resume destructive nodes make now"),
}, needs={"now": ("make",)})  # fmt: skip


def way_of(*, table: bool, run: bool, resume: bool, task: bool, under_load: bool) -> str:
    """Which way of ``strata scale`` was typed."""
    ways = ((table, TABLE), (run, LIKE), (resume, RESUME), (task, TASKS), (under_load, UNDER_LOAD))
    return next((way for typed, way in ways if typed), SWEEP)


STAGE = Usages({
    (STATE,): _names("stack json store"),
    (MEASURED,): _names("stack measure layer size rounds runtime progress json store") | KEPT,
})  # fmt: skip

BASELINE = Usages({
    (SAVE,): _names("what name runs last note anyway json store"),
    (PROMOTE,): _names("what name runs last note anyway json store"),
    (LIST,): _names("what json store"),
    (SHOW,): _names("what name json store"),
})  # fmt: skip

TRUST = Usages({
    (MAKE,): _names("names folder days renew json"),
    (REVOKE,): _names("names folder revoke json"),
    (CHECK,): _names("folder check json"),
})  # fmt: skip

TABLES = {
    "measure": MEASURE, "diagnose": DIAGNOSE, "plan": PLAN, "verify": VERIFY, "target": TARGET, "trace": TRACE,
    "check": CHECKED, "baseline": BASELINE, "emit": EMIT,
    "stage": STAGE, "survey": SURVEY, "scale": SCALE, "node trust": TRUST, "watch": WATCH,
}  # fmt: skip
"""By the name of the command. The test of all options goes through these and through the commands that have none."""
