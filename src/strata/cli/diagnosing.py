"""``strata diagnose`` and ``strata plan``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strata.app import names
from strata.cli import common, completing, matrixing, patterns, tables
from strata.errors import Exit, UsageError
from strata.text.door import note, out

if TYPE_CHECKING:
    from strata.app.options import Options
    from strata.model.profile import Profile
    from strata.model.run import Report

Where = Annotated[Path | None, typer.Argument(help="A directory on the storage in question, or a stack file (.toml).")]


def diagnose(
    context: typer.Context,
    where: Where = None,
    demo: Annotated[
        str | None,
        typer.Option(
            help=f"Rehearse on a modelled stack with a known limit: {', '.join(names.demos())}.",
            autocompletion=completing.demos,
        ),
    ] = None,
    rounds: common.MaybeRounds = None,
    runtime: common.MaybeRuntime = None,
    ramp: common.MaybeRamp = None,
    size: common.SizeText = None,
    layers: common.Layers = None,
    workloads: common.Workloads = None,
    profile: patterns.ProfileName = None,
    job: patterns.JobFile = None,
    read_only: common.ReadOnly = False,
    share: common.Share = False,
    keep: common.Keep = False,
    cpus: common.Cpus = None,
    numa_node: common.NumaNode = None,
    precondition: common.Precondition = None,
    precondition_bytes: common.PreconditionBytes = None,
    cooldown: common.Cooldown = None,
    seed: common.Seed = 1,
    engine: common.Engine = "auto",
    trace: common.Trace = False,
    confirm: Annotated[bool, typer.Option(help="Run the experiments that would refute the verdict.")] = True,
    budget: common.Budget = None,
    html: common.HtmlPath = None,
    markdown: common.MarkdownPath = None,
    json: common.JsonFlag = False,
    progress: common.ProgressMode = "auto",
    name: common.Name = "",
    note: common.Note = "",
    store: common.StoreUrl = None,
) -> int:
    """Measure every layer under PATH with the same workload on the same data, and name what limits it."""
    from strata.app import diagnosing as use_case
    from strata.app.naming import file_or_directory

    outputs_of(html, markdown)
    if demo is None and where is None:
        raise _nothing_named()
    if where is not None and demo is None:
        file_or_directory(where)
    tables.DIAGNOSE.check(context, tables.DEMO if demo is not None else tables.place_of(where), _cells(profile, job))
    chosen = common.options(
        **_lengths(rounds, runtime, ramp, short=demo is not None),
        budget=budget,
        size=size,
        layers=layers,
        workloads=workloads,
        read_only=read_only,
        keep=keep,
        share=share,
        seed=seed,
        engine=engine,
        cpus=cpus,
        numa_node=numa_node,
        precondition=precondition,
        precondition_bytes=precondition_bytes,
        cooldown=cooldown,
        store=store,
        confirm=confirm,
    ).model_copy(update={**_asked(profile, job), "trace": trace, "label": common.label(name, note)})
    if budget is not None and not (chosen.screen or chosen.confirm):
        why = "nothing follows the rounds that were asked for: neither more of them nor an experiment"
        raise UsageError("cannot use --budget with", "--no-confirm", why, "leave one of them out")
    if demo is None:
        report = diagnose_where(where or Path(), chosen, html=html, markdown=markdown, json=json, progress=progress)
        return _told(report)
    with common.display(progress) as display:
        report = use_case.diagnose_demo(demo, chosen, display.update)
    publish(report, html=html, markdown=markdown, json=json)
    return _told(report)


def _lengths(rounds: int | None, runtime: str | None, ramp: str | None, *, short: bool = False) -> dict[str, Any]:
    """Whoever says how often or how long gets just that; else it is looked briefly first, and again where it matters.

    ``short``: a modelled stack is as quiet as can be.
    """
    return {
        "screen": rounds is None and runtime is None and ramp is None,
        "rounds": rounds if rounds is not None else (4 if short else 5),
        "runtime": runtime or ("400ms" if short else "1s"),
        "ramp": ramp or ("100ms" if short else "250ms"),
    }


def _told(report: Report) -> Exit:
    """Whoever asks what limits is told by the exit code too where there is no verdict."""
    from strata.model.finding import VerdictKind

    inconclusive = report.diagnosis.verdict.kind is VerdictKind.INCONCLUSIVE
    return Exit.INCONCLUSIVE if inconclusive else Exit.FINE


def _nothing_named() -> UsageError:
    """A diagnosis writes a test file: where, is said by whoever starts it."""
    return UsageError(
        "nothing to diagnose", "", "a test file is written there, so the place is named",
        "strata diagnose PATH; strata plan PATH shows first what would be written; strata diagnose --demo slow-wire",
    )  # fmt: skip


def _cells(profile: str | None, job: Path | None) -> str:
    """Where the workloads come from, as the tables call it."""
    return tables.PROFILE if profile is not None else tables.JOB if job is not None else tables.USUAL


def _asked(profile: str | None, job: Path | None) -> dict[str, Any]:
    """The workloads in place of the usual set."""
    return {"only": common.jobs(job), "profile": common.profile(profile)}


def outputs_of(*paths: Path | None) -> None:
    """Refuse before the run what could not be written after it."""
    from strata.app.outputs import check_output

    for path in paths:
        if path is not None:
            check_output(path)


def diagnose_where(
    where: Path, chosen: Options, *, html: Path | None, markdown: Path | None, json: bool, progress: str
) -> Report:
    """Measure a directory or a stack file and publish the report."""
    from strata.app.diagnosing import diagnose_path

    with common.display(progress) as display:
        report = diagnose_path(where, chosen, display.update)
    publish(report, html=html, markdown=markdown, json=json)
    return report


def publish(report: Report, *, html: Path | None, markdown: Path | None, json: bool) -> None:
    """Print the report and write the asked files."""
    from strata.report import json_, terminal

    write_report(report, html, markdown)
    out(json_.render(report) if json else terminal.render(report, common.width(), common.color()), json)
    said_where(html, markdown)


def write_report(report: Report, html: Path | None, markdown: Path | None) -> None:
    """The pages that were asked; what makes them is loaded for a page only."""
    from strata.app.outputs import write_output

    if html is not None:
        from strata.report import html as page

        write_output(html, page.render(report))
    if markdown is not None:
        from strata.report import markdown as text

        write_output(markdown, text.render(report))


def said_where(*paths: Path | None) -> None:
    """Where the pages are, once the result was printed."""
    for path in paths:
        if path is not None:
            note(f"report: {path.resolve()}")
    sys.stderr.flush()


def plan(
    context: typer.Context,
    where: Annotated[
        str | None,
        typer.Argument(
            help="A directory on the storage in question, or a stack file (.toml); with --matrix: an endpoint.",
            autocompletion=completing.endpoints,
        ),
    ] = None,
    matrix: matrixing.Matrix = None,
    budget: common.Budget = None,
    until: Annotated[
        str | None,
        typer.Option(help="With --matrix: the half-width that every cell's 95 % interval is to have, e.g. 2%."),
    ] = None,
    buffered: matrixing.Buffered = False,
    sync: matrixing.Sync = None,
    rounds: common.MaybeRounds = None,
    runtime: common.MaybeRuntime = None,
    ramp: common.MaybeRamp = None,
    size: common.SizeText = None,
    layers: common.Layers = None,
    workloads: common.Workloads = None,
    profile: patterns.ProfileName = None,
    job: patterns.JobFile = None,
    from_trace: patterns.FromTrace = None,
    write_profile: patterns.WriteProfile = None,
    read_only: common.ReadOnly = False,
    share: common.Share = False,
    cpus: common.Cpus = None,
    numa_node: common.NumaNode = None,
    precondition: common.Precondition = None,
    precondition_bytes: common.PreconditionBytes = None,
    cooldown: common.Cooldown = None,
    seed: common.Seed = 1,
    engine: common.Engine = "auto",
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> None:
    """What diagnose would run: cells, time and every byte that would be written. Creates nothing.

    With --from-trace: the plan of a profile derived from what was recorded or run, which only --write-profile keeps.

    With --matrix: what a matrix would take, and the error that the noise of earlier runs here lets it have.
    """
    from strata.app.diagnosing import plan_only
    from strata.app.naming import file_or_directory, understood
    from strata.report.json_ import render_plan
    from strata.report.plan_text import plan_text

    cells = tables.MATRIX if matrix is not None else tables.DERIVED if from_trace is not None else _cells(profile, job)
    if matrix is not None:
        where = understood(where or ".", "plan")
    elif where is not None:
        file_or_directory(Path(where))
    tables.PLAN.check(context, tables.place_of(where), cells)
    chosen = common.options(
        **_lengths(rounds, runtime, ramp),
        budget=budget if matrix is None else None,
        size=size,
        layers=layers,
        workloads=workloads,
        read_only=read_only,
        keep=False,
        share=share,
        seed=seed,
        engine=engine,
        cpus=cpus,
        numa_node=numa_node,
        precondition=precondition,
        precondition_bytes=precondition_bytes,
        cooldown=cooldown,
        store=store,
    ).model_copy(update=_asked(profile, job))
    if from_trace is not None:
        chosen = chosen.model_copy(update={"profile": _derived(from_trace, write_profile)})
    if matrix is not None:
        words = matrixing.Words(matrix, budget, until, ramp, buffered, sync)
        matrixing.plan(where or ".", words, chosen, json)
        return
    made = plan_only(Path(where or "."), chosen)
    out(render_plan(made) if json else plan_text(made, common.width(), common.color()), json)


def _derived(asked: str, to: Path | None) -> Profile:
    """The profile that a record holds, kept where that was asked; what is not known of it goes to stderr."""
    from strata.app import deriving

    found = deriving.derive(asked, to.stem if to is not None else deriving.NAME)
    for one in found.notes:
        note(f"note: {one}")
    if to is not None:
        deriving.write_profile(to, found)
        note(f"profile: {to.resolve()}")
    return found.profile
