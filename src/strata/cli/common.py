"""What several commands share: option types, the display, and how text reaches the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strata import units
from strata.app import names
from strata.cli import completion
from strata.errors import UsageError
from strata.model.workload_options import OPTIONS
from strata.text.output import note, out

if TYPE_CHECKING:
    from strata.model.base import Value
    from strata.model.progress import Progress
    from strata.model.workload import Workload
    from strata.report.live import LiveView

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout instead of text.")]
StoreUrl = Annotated[
    str | None,
    typer.Option(envvar="STRATA_STORE", help="Database URL (default: SQLite in the XDG state directory)."),
]
ProgressMode = Annotated[str, typer.Option(help="Progress display on stderr: auto, plain or none.")]
Trace = Annotated[
    bool,
    typer.Option(
        "--trace", help="After measuring, trace the block devices briefly, one workload at a time; needs root."
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        help="Time for further rounds and experiments (default 90s); with --matrix: for the whole matrix (15m).",
    ),
]
Confirming = Annotated[str | None, typer.Option(help="Time for further rounds and experiments (default 90s).")]
Destructive = Annotated[
    str | None,
    typer.Option(help="Allow writing to a raw device or foreign export: repeat its name. All data on it is lost."),
]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        help="Another file or device of the same kind, loaded together with WHERE; repeatable.",
        autocompletion=completion.endpoints,
    ),
]
Buffered = Annotated[bool, typer.Option("--buffered", help=OPTIONS["buffered"].help)]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="Meaning of a column: HEADING=KIND [UNIT], e.g. 'BW=rate [MB/s]'; 'HEADING=' is a label; repeatable.",
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of the random offsets and of the measuring order.")]
JobFile = Annotated[
    Path | None,
    typer.Option(help="Use the workloads of a fio job file, one per section, instead of the standard set."),
]
Matrix = Annotated[
    str | None,
    typer.Option(
        help=f"Measure a matrix of workloads within one time budget: {', '.join(names.matrices())}, or "
        "'bs=4k,64k;iodepth=1,8;rw=randread'.",
        autocompletion=completion.matrices,
    ),
]
HtmlPath = Annotated[Path | None, typer.Option(help="Write the report as one HTML file.")]
MarkdownPath = Annotated[Path | None, typer.Option(help="Write the report as Markdown.")]
CsvPath = Annotated[Path | None, typer.Option(help="Write the figures of the cells as CSV to this file.")]
JsonlPath = Annotated[Path | None, typer.Option(help="Write the figures of the cells as JSON Lines to this file.")]


def check_targets(uris: Sequence[str]) -> None:
    """Raises `UsageError` where one of several is no endpoint."""
    from strata.app.where import is_endpoint

    if len(uris) > 1 and not all(is_endpoint(uri) for uri in uris):
        hint = "for example: file:/a --target file:/b"
        raise UsageError("with --target, every target must be an endpoint:", ", ".join(uris), "", hint)


def columns(given: list[str] | None) -> dict[str, str]:
    """What the user says that columns of a table are, by their headings. Raises `UsageError`."""
    made = {}
    for word in given or []:
        heading, equals, key = word.partition("=")
        if not equals or not heading.strip():
            raise UsageError("cannot use --column", word, "", "write HEADING=KIND [UNIT], such as 'BW=rate [MiB/s]'")
        made[heading] = key.strip()
    return made


def seconds(text: str | None) -> float | None:
    """A time as the user writes it. Raises `UsageError`."""
    return None if text is None else units.parse_duration_ns(text) / units.NS_PER_S


def size(text: str | None) -> int | None:
    """Bytes as the user writes them. Raises `UsageError`."""
    return None if text is None else units.parse_size(text)


def jobs(path: Path | None) -> tuple[Workload, ...]:
    """The workloads of a fio job file; none without one. Raises `UsageError` with everything it cannot be."""
    if path is None:
        return ()
    from strata.app.profiles import read_jobs

    return read_jobs(path)


def width() -> int:
    """Columns of the terminal, or of COLUMNS, or 100 when the output is no terminal."""
    return shutil.get_terminal_size((100, 24)).columns


def color() -> bool:
    """NO_COLOR, CLICOLOR_FORCE and TERM=dumb are honoured; else colour goes to terminals only."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("CLICOLOR_FORCE")) or sys.stdout.isatty()


def show(found: Value, text: Callable[[Any, int, bool], str], json: bool) -> None:
    """Print it as ``text`` makes it for the terminal, or with --json as one document."""
    out(found.model_dump_json(indent=2) if json else text(found, width(), color()), json)


@contextmanager
def display(mode: str) -> Iterator[Callable[[Progress], None]]:
    """Gives what shows the progress of a run on stderr: the live view on a terminal, plain lines elsewhere, nothing for
    ``none``."""
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
        blind = PlainView()
        blind.close()
        yield blind.update
        return
    live = mode == "auto" and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    view: LiveView | PlainView = PlainView()
    if live:
        # Drawing takes a library that is slow to load; who watches no terminal does not wait for it.
        from strata.report.live import LiveView

        view = LiveView()
    with closing(view):
        yield view.update
