"""The bundles of options that several commands share, each option declared once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strata import units
from strata.app import names as known
from strata.cli import common, completion
from strata.cli.bundle import Bundle
from strata.errors import UsageError
from strata.model.workload_options import OPTIONS, Kind, WorkloadOption
from strata.text.output import note, out

if TYPE_CHECKING:
    from strata.app.export import Tabular
    from strata.app.options import Options
    from strata.model.profile import Profile
    from strata.model.progress import Progress
    from strata.model.run import Label, Report


class CellFiles(Bundle):
    """Tables of what was found."""

    csv: common.CsvPath = None
    jsonl: common.JsonlPath = None

    @property
    def files(self) -> list[Path]:
        """The files that are to be written."""
        return [path for path in (self.csv, self.jsonl) if path is not None]

    def check(self, *more: Path | None) -> None:
        """Refuse before the run what could not be written after it, of ``more`` too. Raises `UsageError`."""
        from strata.app.outputs import check_output

        every = [path for path in (*more, *self.files) if path is not None]
        for path in every:
            check_output(path)
        if twice := {str(path) for path in every if every.count(path) > 1}:
            raise UsageError("cannot write", ", ".join(twice), "two options name this file", "give each its own file")

    def write_cells(self, found: Tabular) -> None:
        """The tables that were asked; what makes them is loaded for a table only."""
        for form, path in (("csv", self.csv), ("jsonl", self.jsonl)):
            if path is not None:
                from strata.app.export import write_cells

                write_cells(path, form, found)


class Pages(CellFiles):
    """Where the result goes."""

    html: common.HtmlPath = None
    markdown: common.MarkdownPath = None
    json: common.JsonFlag = False
    store: common.StoreUrl = None

    @property
    def files(self) -> list[Path]:
        """The files that are to be written."""
        return [*(path for path in (self.html, self.markdown) if path is not None), *super().files]

    def publish(self, report: Report) -> None:
        """Print the report and write the asked files."""
        from strata.report import json_, terminal

        self.write(report)
        text = json_.render(report) if self.json else terminal.render(report, common.width(), common.color())
        out(text, self.json)
        self.said_where()

    def write(self, report: Report) -> None:
        """The files that were asked; what makes them is loaded for a page only."""
        from strata.app.outputs import write_output

        if self.html is not None:
            from strata.report.html import page

            write_output(self.html, page.render(report))
        if self.markdown is not None:
            from strata.report import markdown as text

            write_output(self.markdown, text.render(report))
        self.write_cells(report)

    def said_where(self) -> None:
        """Where the files are, once the result was printed."""
        for path in self.files:
            note(f"{'cells' if path in (self.csv, self.jsonl) else 'report'}: {path.resolve()}")


class Output(Pages):
    """The same of a command that measures."""

    progress: common.ProgressMode = "auto"

    def measured(self, measure: Callable[[Callable[[Progress], None]], Report]) -> Report:
        """Have a run measured, show its progress, and publish its report."""
        with common.display(self.progress) as emit:
            report = measure(emit)
        self.publish(report)
        return report


class Kept(Bundle):
    """What the run is called in the store."""

    name: Annotated[str, typer.Option(help="Name of the run in the store (strata runs --name finds it).")] = ""
    note: Annotated[str, typer.Option(help="Reason for the run, stored with it.")] = ""

    @property
    def label(self) -> Label:
        """As a value. Raises `UsageError` for what is too long."""
        from pydantic import ValidationError

        from strata.model.run import LABEL_MOST, NOTE_MOST, Label

        try:
            return Label(name=self.name.strip(), note=self.note.strip())
        except ValidationError as e:
            said = "; ".join(f"--{p['loc'][0]}: {p['msg']}" for p in e.errors())
            hint = f"--name takes up to {LABEL_MOST} characters, --note up to {NOTE_MOST}"
            raise UsageError("cannot label the run:", said, "", hint) from e


class Placed(Bundle):
    """What generates the load, where, on how much."""

    size: Annotated[str | None, typer.Option(help="Size of the test file, e.g. 4g (default: automatic).")] = None
    cpus: Annotated[str | None, typer.Option(help="Pin threads to these CPUs, round-robin, e.g. 0,2-3.")] = None
    numa_node: Annotated[
        str | None,
        typer.Option(help="Bind threads and their memory to these NUMA nodes, round-robin."),
    ] = None
    engine: Annotated[
        str,
        typer.Option(
            help="Load generator: native, fio (an installed fio), or auto (fio for rbd: and gluster:, otherwise "
            "native)."
        ),
    ] = "auto"
    seed: common.Seed = OPTIONS["seed"].default


class Filed(Placed):
    """The same of a run that may make a test file."""

    keep: Annotated[bool, typer.Option("--keep", help="Keep the test file after the run.")] = False


class Timed(Bundle):
    """How long, and what comes before."""

    runtime: Annotated[
        str | None,
        typer.Option(help="Measured time per cell and round (default 1s, for one endpoint 5s; diagnose chooses)."),
    ] = None
    ramp: Annotated[
        str | None,
        typer.Option(
            "--ramp-time",
            help="Warm-up time before each measurement, not counted (default 250ms, for one endpoint 500ms; diagnose "
            "chooses).",
        ),
    ] = None
    precondition: Annotated[
        str | None,
        typer.Option(help="Before measuring, write until the rate is steady, for at most this long, e.g. 60s."),
    ] = None
    precondition_bytes: Annotated[
        str | None,
        typer.Option(
            help="Most data that --precondition writes, e.g. 20g (default: 8 times the file size).",
        ),
    ] = None


class TimedFinely(Timed):
    """The same with the length of the reported intervals."""

    interval: Annotated[str | None, typer.Option(help="Length of the reported intervals (default: at most 1s).")] = None


class Layered(Bundle):
    """Which cells of a run over layers, and how often."""

    rounds: Annotated[
        int | None,
        typer.Option(
            help="Number of repetitions of every cell, interleaved (default 5; diagnose chooses). More rounds "
            "give narrower confidence intervals.",
        ),
    ] = None
    layers: Annotated[str | None, typer.Option(help="Measure only these layers, comma-separated.")] = None
    workloads: Annotated[
        str | None, typer.Option(help="Measure only these workloads, comma-separated names or globs.")
    ] = None
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Run no workloads that write; the test file is still filled.")
    ] = False
    share: Annotated[bool, typer.Option("--share", help="Add a layer: the same file, served over NBD on loopback.")] = (
        False
    )
    cooldown: Annotated[
        str | None, typer.Option(help="Idle time between two measurements, e.g. 2s (default: none).")
    ] = None


class Asked(Bundle):
    """The workloads in place of the usual set."""

    profile: Annotated[
        str | None,
        typer.Option(
            help="Use the workloads and performance goals of an application: "
            f"{', '.join(known.profiles())}, or a .toml file.",
            autocompletion=completion.profiles,
        ),
    ] = None
    job: common.JobFile = None

    @property
    def workloads(self) -> dict[str, Any]:
        """As `Options` takes them. Raises `UsageError` for what is not there or cannot be used."""
        return {"only": common.jobs(self.job), "profile": self._profile()}

    def _profile(self) -> Profile | None:
        if self.profile is None:
            return None
        from strata.app.profiles import find_profile

        return find_profile(self.profile)


class Cells(Bundle):
    """Of one measurement: the cells that are neither the usual set nor the words' own."""

    job: common.JobFile = None
    matrix: common.Matrix = None
    budget: Annotated[str | None, typer.Option(help="With --matrix: time for the whole matrix (default 15m).")] = None


class Until(Bundle):
    """How long a measurement goes on that has an interval to reach."""

    until: Annotated[
        str | None,
        typer.Option(
            help="One endpoint or a matrix: measure until the 95 % interval of the mean has this half-width, e.g. 2%."
        ),
    ] = None
    until_percentile: Annotated[
        str | None, typer.Option(help="Also require a percentile's interval (default 99:5%; 'none' turns it off).")
    ] = None
    until_min: Annotated[str | None, typer.Option(help="Minimum length of the steady state (default 3s).")] = None
    until_bytes: Annotated[
        str | None, typer.Option(help="Stop after this much data is read and written, e.g. 20g.")
    ] = None


class Several(Bundle):
    """One workload over several targets."""

    target: common.Targets = None
    shares: Annotated[
        str | None, typer.Option(help="Share of the I/Os for WHERE and each --target, e.g. 3:1:1 (default: equal).")
    ] = None
    deal: Annotated[str, typer.Option(help=OPTIONS["deal"].help)] = OPTIONS["deal"].default

    nodes: Annotated[
        str | None,
        typer.Option(
            help="Run the clients on the nodes of this scheduler, the same number on each, or drive each layer of a "
            "stack from its node, e.g. tls://host:8786."
        ),
    ] = None

    def weights(self, targets: int) -> tuple[int, ...]:
        """Of so many targets: equal ones without a text, none for a single target. Raises `UsageError`."""
        if targets == 1 and self.shares is None:
            return ()
        parts = ["1"] * targets if self.shares is None else self.shares.split(":")
        if len(parts) != targets or not all(part.strip().isdecimal() for part in parts):
            why = f"{targets} targets need {targets} whole numbers"
            raise UsageError("cannot use --shares", str(self.shares), why, "for example: --target file:/b --shares 3:1")
        return tuple(int(part) for part in parts)


_TYPES = {Kind.COUNT: int, Kind.NUMBER: float, Kind.FLAG: bool}
_ROWS = [row for row in OPTIONS.values() if row.spellings]


def _declared(row: WorkloadOption) -> Any:
    """The type of a workload's option, as the command line's library takes it."""
    kind: Any = _TYPES.get(row.kind, str)
    return Annotated[kind | None if row.default is None else kind, typer.Option(*row.spellings, help=row.help)]


class _Words(Bundle):
    """What was typed of the table's options."""

    @property
    def given(self) -> dict[str, Any]:
        """The words of `workload_from_words`; what another word is short for under its name."""
        typed = {row: getattr(self, row.parameter) for row in _ROWS}
        words = {row.name: value for row, value in typed.items() if row.means is None}
        for row, value in typed.items():
            if row.means is not None and value:
                words |= [row.means]
        return words

    @property
    def line(self) -> tuple[str, ...]:
        """What was typed, as words for another command."""
        said = [(row, value) for row in _ROWS if (value := getattr(self, row.parameter)) != row.default]
        return tuple(
            word for row, value in said
            for word in ((row.spellings[0],) if row.kind is Kind.FLAG else (row.spellings[0], str(value)))
        )  # fmt: skip


if TYPE_CHECKING:

    class WorkloadWords(_Words):
        """A field for every option of the table that the command line says."""

        rw: str | None
        buffered: bool
        sync: str | None
        dsync: bool
else:
    # Made of the table: a new option of a workload needs no word here.
    WorkloadWords = type(
        "WorkloadWords",
        (_Words,),
        {row.parameter: row.default for row in _ROWS}
        | {"__annotations__": {row.parameter: _declared(row) for row in _ROWS}, "__module__": __name__},
    )


def options(placed: Placed, timed: Timed, layered: Layered, unsaid: Options | None = None, **more: Any) -> Options:
    """The words of the command line as a value. ``unsaid``: what holds where they say nothing, if not `Options`' own.

    Raises `UsageError` for words that are no size or time, or too much.
    """
    from strata.app.options import Options
    from strata.model.placement import parse_placement

    pinned = placed.cpus or placed.numa_node
    interval = getattr(timed, "interval", None)
    said: dict[str, Any] = {
        "runtime_s": common.seconds(timed.runtime or None),
        "ramp_s": common.seconds(timed.ramp or None),
        "rounds": layered.rounds,
        "interval_s": common.seconds(interval),
        "size": common.size(placed.size),
        "layers": _list(layered.layers),
        "workloads": _list(layered.workloads),
        "read_only": layered.read_only,
        "keep": getattr(placed, "keep", False),
        "share": layered.share,
        "seed": placed.seed,
        "engine": placed.engine,
        "precondition_s": common.seconds(timed.precondition),
        "precondition_bytes": common.size(timed.precondition_bytes),
        "cooldown_s": common.seconds(layered.cooldown),
        "placement": parse_placement(placed.cpus, placed.numa_node) if pinned else None,
    }
    said = {name: value for name, value in said.items() if value is not None}
    return within_bounds(dict(unsaid or Options()) | said | more)


def within_bounds(said: Mapping[str, Any]) -> Options:
    """Raises `UsageError` that names each value out of its bounds."""
    from pydantic import ValidationError

    from strata.app.options import Options

    try:
        return Options(**said)
    except ValidationError as e:
        problems = tuple(f"{_option_of(str(p['loc'][0]))}: {_limit(p)}" for p in e.errors())
        raise UsageError(
            "cannot use these options:",
            problems[0] if len(problems) == 1 else "",
            "",
            "give a value in that range, or leave the option out",
            problems if len(problems) > 1 else (),
        ) from e


def _option_of(field: str) -> str:
    """How a field of `Options` is typed, of those that have a bound."""
    return "--ramp-time" if field == "ramp_s" else f"--{field.removesuffix('_s').replace('_', '-')}"


def _limit(problem: Any) -> str:
    """Pydantic's sentence, the size in units."""
    least = problem.get("ctx", {}).get("ge")
    if problem["loc"][0] == "size" and least is not None:
        return f"the test file needs at least {units.size(least)}"
    return str(problem["msg"]).replace("Input should be", "it must be")


def _list(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())
