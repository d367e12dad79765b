"""What several commands share: option types, the display, and how text reaches the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer
from pydantic import ValidationError

from strata import units
from strata.app.options import Options
from strata.errors import UsageError
from strata.model.progress import Progress
from strata.model.workload import Workload

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
Runtime = Annotated[str, _RUNTIME]
MaybeRuntime = Annotated[str | None, _RUNTIME]
Ramp = Annotated[str, _RAMP]
MaybeRamp = Annotated[str | None, _RAMP]
SizeText = Annotated[str | None, typer.Option("--size", help="Size of the test file, e.g. 4g; default: chosen.")]
Layers = Annotated[str | None, typer.Option(help="Only these layers of the stack, comma-separated.")]
Workloads = Annotated[str | None, typer.Option(help="Only these workloads (names or globs), comma-separated.")]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="No writing workloads (the test file is still filled).")]
Keep = Annotated[bool, typer.Option("--keep", help="Leave the test file in place.")]
Share = Annotated[bool, typer.Option("--share", help="Add a share of the same file over loopback (NBD).")]
Seed = Annotated[int, typer.Option(help="Seed of offsets and order.")]


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
    confirm: bool = True,
    interval: str | None = None,
) -> Options:
    """The words of the command line as a value. Raises `UsageError` for words that are no size or time, or too much."""
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
        )
    except ValidationError as e:
        problems = tuple(f"{_OPTION_OF.get(str(p['loc'][0]), p['loc'][0])}: {_limit(p)}" for p in e.errors())
        raise UsageError(
            "cannot measure so:",
            problems[0] if len(problems) == 1 else "",
            "",
            "strata diagnose --help",
            problems if len(problems) > 1 else (),
        ) from e


_OPTION_OF = {
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


def jobs(path: Path | None) -> tuple[Workload, ...]:
    """The workloads of a fio job file; none without one. Raises `UsageError` with everything it cannot be."""
    from strata.app.jobfile import read_jobs

    return () if path is None else read_jobs(path)


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
    from strata.app.build import debug_warning
    from strata.report.live import LiveView, PlainView

    if mode not in ("auto", "plain", "none"):
        raise UsageError("cannot use --progress", mode, "", "choose auto, plain or none")
    # Everything that measures comes through here.
    if warning := debug_warning():
        note(warning)
    if mode == "none":
        yield _Blind()
        return
    live = mode == "auto" and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    with LiveView() if live else PlainView() as view:
        yield view


class _Blind:
    def update(self, progress: Progress) -> None:
        """Nobody watches."""


def out(text: str) -> None:
    """A result on stdout."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """A remark on stderr."""
    print(text, file=sys.stderr, flush=True)


HtmlPath = Annotated[Path | None, typer.Option("--html", help="Write the report as one HTML file.")]
MarkdownPath = Annotated[Path | None, typer.Option("--markdown", help="Write the report as Markdown.")]
