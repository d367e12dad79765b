"""``strata diagnose`` and ``strata plan``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strata.app import names
from strata.cli import common, completion, tables
from strata.cli import matrix as cli_matrix
from strata.cli.bundle import Bundle
from strata.cli.bundles import Asked, Filed, Kept, Layered, Output, Placed, Timed, options
from strata.errors import Exit, UsageError
from strata.model.workload_options import Sync, one_of
from strata.text.output import note, out

if TYPE_CHECKING:
    from strata.app.options import Options
    from strata.model.profile import Profile
    from strata.model.run import Report

Where = Annotated[str | None, typer.Argument(help="A directory on the storage to diagnose, or a stack file (.toml).")]


def diagnose(
    context: typer.Context,
    asked: Asked,
    timed: Timed,
    placed: Filed,
    layered: Layered,
    output: Output,
    kept: Kept,
    where: Where = None,
    demo: Annotated[
        str | None,
        typer.Option(
            help=f"Diagnose a simulated stack with a known limit: {', '.join(names.demos())}.",
            autocompletion=completion.demos,
        ),
    ] = None,
    trace: common.Trace = False,
    confirm: Annotated[bool, typer.Option(help="Run experiments that could refute the verdict.")] = True,
    budget: common.Confirming = None,
    nodes: Annotated[
        str | None,
        typer.Option(help="Drive each layer of a stack file from its node of this scheduler, e.g. tls://host:8786."),
    ] = None,
) -> int:
    """Measure every layer below WHERE and name what limits it. Every layer gets the same workload on the same data."""
    from strata.app import diagnose as use_case
    from strata.app.options import check_budget
    from strata.app.where import file_or_directory

    output.check()
    if demo is None and where is None:
        raise _nothing_named()
    if where is not None and demo is None:
        file_or_directory(where)
    tables.DIAGNOSE.check(context, tables.DEMO if demo is not None else tables.place_of(where), _cells(asked))
    chosen = options(
        placed, timed, layered, _unsaid(layered, timed, demo=demo is not None), **asked.workloads,
        budget_s=common.seconds(budget), store=output.store, confirm=confirm, trace=trace, label=kept.label,
        nodes=nodes,
    )  # fmt: skip
    check_budget(chosen)
    if demo is None:
        return _told(output.measured(partial(use_case.diagnose_path, Path(where or "."), chosen)))
    return _told(output.measured(partial(use_case.diagnose_demo, demo, chosen)))


def _unsaid(layered: Layered, timed: Timed, *, demo: bool = False) -> Options:
    """What it does where it was not said how often or how long."""
    from strata.app.options import unsaid

    said = {"rounds": layered.rounds, "runtime_s": timed.runtime, "ramp_s": timed.ramp}
    return unsaid([name for name, value in said.items() if value is not None], demo=demo)


def _told(report: Report) -> Exit:
    """Whoever asks what limits is told by the exit code too where there is no verdict."""
    from strata.model.finding import VerdictKind

    inconclusive = report.diagnosis.verdict.kind is VerdictKind.INCONCLUSIVE
    return Exit.INCONCLUSIVE if inconclusive else Exit.FINE


def _nothing_named() -> UsageError:
    """A diagnosis writes a test file: where, is said by whoever starts it."""
    return UsageError(
        "nothing to diagnose", "", "no path is given, and a test file would be written there",
        "strata diagnose PATH; strata plan PATH shows first what would be written; strata diagnose --demo slow-wire",
    )  # fmt: skip


def _cells(asked: Asked) -> str:
    """Where the workloads come from, as the tables call it."""
    return tables.PROFILE if asked.profile is not None else tables.JOB if asked.job is not None else tables.USUAL


class FromRecord(Bundle):
    """A profile from a record."""

    from_trace: Annotated[
        str | None,
        typer.Option(
            help="Derive a profile from a saved trace, blkparse text, a fio job file, or a fio or diskspd command.",
        ),
    ] = None
    write_profile: Annotated[
        Path | None,
        typer.Option(help="Save the profile of --from-trace in this .toml file, for use with --profile."),
    ] = None


def plan(
    context: typer.Context,
    asked: Asked,
    timed: Timed,
    placed: Placed,
    layered: Layered,
    derived: FromRecord,
    where: Annotated[
        str | None,
        typer.Argument(
            help="A directory on the storage to measure, or a stack file (.toml); with --matrix also an endpoint.",
            autocompletion=completion.endpoints,
        ),
    ] = None,
    matrix: common.Matrix = None,
    budget: common.Budget = None,
    until: Annotated[
        str | None,
        typer.Option(help="With --matrix: target half-width of every cell's 95 % interval, e.g. 2%."),
    ] = None,
    buffered: common.Buffered = False,
    sync: Annotated[
        str | None,
        typer.Option(
            help=f"With --matrix: durability of writes: {one_of(Sync)} (default {Sync.DSYNC}, with --buffered "
            f"{Sync.NONE}).",
        ),
    ] = None,
    clients: Annotated[
        int, typer.Option(min=1, help="With --matrix: number of clients that load each cell at once.")
    ] = 1,
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> None:
    """Show what diagnose would run, and create nothing. Lists the cells, the time and every byte it would write.

    With --from-trace: plan a profile derived from a recording or a command; --write-profile saves it.

    With --matrix: show what a matrix would take, and the precision to expect from the noise of earlier runs.
    """
    from strata.app.diagnose import plan_only
    from strata.app.where import file_or_directory, understood
    from strata.report.json_ import render_part
    from strata.report.plan_text import plan_text

    recorded = derived.from_trace is not None
    cells = tables.MATRIX if matrix is not None else tables.DERIVED if recorded else _cells(asked)
    if matrix is not None:
        where = understood(where or ".", "plan")
    elif where is not None:
        file_or_directory(where)
    tables.PLAN.check(context, tables.place_of(where), cells)
    workloads = asked.workloads
    if derived.from_trace is not None:
        workloads["profile"] = _derived(derived.from_trace, derived.write_profile)
    chosen = options(
        placed, timed, layered, _unsaid(layered, timed), **workloads, store=store,
        budget_s=common.seconds(budget) if matrix is None else None,
    )  # fmt: skip
    if matrix is not None:
        from strata.app.matrix_plan import words_of

        words = words_of(matrix, budget, until, timed.ramp, buffered=buffered, sync=sync, clients=clients)
        cli_matrix.plan(where or ".", words, chosen, json)
        return
    made = plan_only(Path(where or "."), chosen)
    out(render_part("plan", "plan", made) if json else plan_text(made, common.width(), common.color()), json)


def _derived(asked: str, to: Path | None) -> Profile:
    """The profile that a record holds, kept where that was asked; what is not known of it goes to stderr."""
    from strata.app import derive

    found = derive.derive(asked, to.stem if to is not None else derive.NAME)
    for one in found.notes:
        note(f"note: {one}")
    if to is not None:
        derive.write_profile(to, found)
        note(f"profile: {to.resolve()}")
    return found.profile
