"""What several commands share: option types, the display, and how text reaches the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from strata import units
from strata.errors import UsageError
from strata.text.door import note

if TYPE_CHECKING:
    from strata.app.options import Options
    from strata.model.profile import Profile
    from strata.model.progress import Progress
    from strata.model.run import Label
    from strata.model.workload import Workload
    from strata.report.live import LiveView

JsonFlag = Annotated[bool, typer.Option("--json", help="One JSON document on stdout instead of text.")]
StoreUrl = Annotated[
    str | None,
    typer.Option("--store", envvar="STRATA_STORE", help="Database URL; default: SQLite in the XDG state directory."),
]
ProgressMode = Annotated[str, typer.Option("--progress", help="auto, plain or none; on stderr.")]
_ROUNDS = typer.Option("--rounds", help="Interleaved repetitions of every cell; they give the intervals.")
_RUNTIME = typer.Option("--runtime", help="Measured time of one cell in one round, e.g. 1s or 500ms.")
_RAMP = typer.Option("--ramp-time", help="Run before measuring starts and not counted.")
Rounds = Annotated[int, _ROUNDS]
MaybeRounds = Annotated[int | None, _ROUNDS]
MaybeRuntime = Annotated[str | None, _RUNTIME]
MaybeRamp = Annotated[str | None, _RAMP]
SizeText = Annotated[str | None, typer.Option("--size", help="Size of the test file, e.g. 4g; default: chosen.")]
Layers = Annotated[str | None, typer.Option(help="Only these layers of the stack, comma-separated.")]
Workloads = Annotated[str | None, typer.Option(help="Only these workloads (names or globs), comma-separated.")]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="No writing workloads (the test file is still filled).")]
Keep = Annotated[bool, typer.Option("--keep", help="Leave the test file in place.")]
Share = Annotated[bool, typer.Option("--share", help="Add a share of the same file over loopback (NBD).")]
Engine = Annotated[
    str,
    typer.Option(
        help="What generates the load: native, fio (an installed fio), or auto: fio for rbd: and gluster:, else native."
    ),
]
Cpus = Annotated[str | None, typer.Option("--cpus", help="Pin the threads to these processors, in turn, e.g. 0,2-3.")]
NumaNode = Annotated[
    str | None, typer.Option("--numa-node", help="Keep the threads on these NUMA nodes, in turn, with their memory.")
]
Precondition = Annotated[
    str | None,
    typer.Option("--precondition", help="Write before measuring until the rate is steady, at most so long, e.g. 60s."),
]
PreconditionBytes = Annotated[
    str | None, typer.Option("--precondition-bytes", help="And at most so much, e.g. 20g; default: 8 times the file.")
]
Trace = Annotated[
    bool, typer.Option("--trace", help="Then trace the devices for a moment, each workload by itself (root).")
]
Budget = Annotated[
    str | None,
    typer.Option("--budget", help="Time for further rounds and experiments (90s); with --matrix: for all of it (15m)."),
]
Cooldown = Annotated[str | None, typer.Option("--cooldown", help="Idle time between two measurements, e.g. 2s.")]
Seed = Annotated[int, typer.Option(help="Seed of offsets and order.")]
Name = Annotated[str, typer.Option("--name", help="What the run is called in the store, for strata runs --name.")]
Note = Annotated[str, typer.Option("--note", help="Why it was measured, kept with the run.")]


def options(
    *,
    rounds: int,
    runtime: str,
    ramp: str,
    size: str | None,
    layers: str | None,
    workloads: str | None,
    read_only: bool,
    keep: bool,
    share: bool,
    seed: int,
    store: str | None,
    engine: str,
    confirm: bool = True,
    interval: str | None = None,
    cpus: str | None = None,
    numa_node: str | None = None,
    precondition: str | None = None,
    precondition_bytes: str | None = None,
    cooldown: str | None = None,
    budget: str | None = None,
    screen: bool = False,
) -> Options:
    """The words of the command line as a value. Raises `UsageError` for words that are no size or time, or too much."""
    from pydantic import ValidationError

    from strata.app.options import Options
    from strata.model.placement import parse_placement

    try:
        return Options(
            rounds=rounds,
            runtime_s=units.parse_duration_ns(runtime) / 1e9,
            ramp_s=units.parse_duration_ns(ramp) / 1e9,
            interval_s=None if interval is None else units.parse_duration_ns(interval) / 1e9,
            size=None if size is None else units.parse_size(size),
            layers=_list(layers),
            workloads=_list(workloads),
            read_only=read_only,
            keep=keep,
            share=share,
            seed=seed,
            store=store,
            confirm=confirm,
            engine=engine,
            precondition_s=seconds(precondition),
            precondition_bytes=None if precondition_bytes is None else units.parse_size(precondition_bytes),
            cooldown_s=seconds(cooldown) or 0.0,
            budget_s=seconds(budget),
            screen=screen,
            placement=parse_placement(cpus, numa_node) if cpus or numa_node else None,
        )
    except ValidationError as e:
        problems = tuple(f"{_OPTION_OF.get(str(p['loc'][0]), p['loc'][0])}: {_limit(p)}" for p in e.errors())
        raise UsageError(
            "cannot measure so:",
            problems[0] if len(problems) == 1 else "",
            "",
            "give a value within that, or leave it out",
            problems if len(problems) > 1 else (),
        ) from e


def label(name: str, note: str) -> Label:
    """What the run is called. Raises `UsageError` for what is too long."""
    from pydantic import ValidationError

    from strata.model.run import Label

    try:
        return Label(name=name.strip(), note=note.strip())
    except ValidationError as e:
        said = "; ".join(f"--{p['loc'][0]}: {p['msg']}" for p in e.errors())
        raise UsageError("cannot keep the run so:", said, "", "--name takes 64 characters, --note 2000") from e


def seconds(text: str | None) -> float | None:
    """A time as the user writes it. Raises `UsageError`."""
    return None if text is None else units.parse_duration_ns(text) / units.NS_PER_S


_OPTION_OF = {
    "precondition_s": "--precondition",
    "precondition_bytes": "--precondition-bytes",
    "cooldown_s": "--cooldown",
    "budget_s": "--budget",
    "runtime_s": "--runtime",
    "ramp_s": "--ramp-time",
    "interval_s": "--interval",
    "size": "--size",
    "rounds": "--rounds",
}


def _limit(problem: Mapping[str, Any]) -> str:
    """Pydantic's sentence, the size in units."""
    least = problem.get("ctx", {}).get("ge")
    if problem["loc"][0] == "size" and least is not None:
        return f"the test file needs at least {units.size(least)}"
    return str(problem["msg"]).replace("Input should be", "it has to be")


def profile(word: str | None) -> Profile | None:
    """The profile that was asked for. Raises `UsageError` that names those there are."""
    if word is None:
        return None
    from strata.app.profiles import find_profile

    return find_profile(word)


def jobs(path: Path | None) -> tuple[Workload, ...]:
    """The workloads of a fio job file; none without one. Raises `UsageError` with everything it cannot be."""
    if path is None:
        return ()
    from strata.app.jobfile import read_jobs

    return read_jobs(path)


def _list(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def width() -> int:
    """Columns of the terminal, or of COLUMNS, or 100 when the output is no terminal."""
    return shutil.get_terminal_size((100, 24)).columns


def color() -> bool:
    """NO_COLOR, CLICOLOR_FORCE and TERM=dumb are honoured; else colour goes to terminals only."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("CLICOLOR_FORCE")) or sys.stdout.isatty()


class Watcher(Protocol):
    """Whoever watches a run."""

    def update(self, progress: Progress) -> None: ...


@contextmanager
def display(mode: str) -> Iterator[Watcher]:
    """What watches the run on stderr: the live view on a terminal, plain lines elsewhere, nothing for ``none``."""
    from strata.app import credentials
    from strata.app.build import debug_warning
    from strata.report.plain import PlainView

    if mode not in ("auto", "plain", "none"):
        raise UsageError("cannot use --progress", mode, "", "choose auto, plain or none")
    # Everything that measures comes through here.
    if warning := debug_warning():
        note(warning)
    credentials.ask(sys.argv[1:])
    if mode == "none":
        yield _Blind()
        return
    live = mode == "auto" and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    with _live_view() if live else PlainView() as view:
        yield view


def _live_view() -> LiveView:
    # Drawing takes a library that is slow to load; who watches no terminal does not wait for it.
    from strata.report.live import LiveView

    return LiveView()


class _Blind:
    def update(self, progress: Progress) -> None:
        """Nobody watches."""


HtmlPath = Annotated[Path | None, typer.Option("--html", help="Write the report as one HTML file.")]
MarkdownPath = Annotated[Path | None, typer.Option("--markdown", help="Write the report as Markdown.")]
