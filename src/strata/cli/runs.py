"""``strata runs``: what is in the store, and taking runs out of it."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from strata import units
from strata.cli import common
from strata.cli.help import Commands
from strata.cli.usages import spellings, typed
from strata.errors import UsageError
from strata.text.output import note, out

runs = Commands("runs", "List the runs in the store, newest first.", invoke_without_command=True, bare=True)


@runs.callback()
def list_them(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of runs listed.")] = 20,
    name: Annotated[str | None, typer.Option(help="Only runs with this name; * is a wildcard.")] = None,
    host: Annotated[str | None, typer.Option(help="Only runs measured from this host; * is a wildcard.")] = None,
    stack: Annotated[str | None, typer.Option(help="Only runs of this stack or endpoint; * is a wildcard.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Only runs since a date (2026-11-20, UTC) or for a period (7d).")
    ] = None,
    demos: Annotated[bool, typer.Option("--demos", help="Include runs of demos.")] = False,
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> None:
    """List the runs in the store."""
    if context.invoked_subcommand is not None:
        if given := typed(context):
            names = ", ".join(spellings(context)[n] for n in given)
            command = f"{context.command_path} {context.invoked_subcommand}"
            raise UsageError(f"cannot use {names} before", context.invoked_subcommand, "", f"{command} --help")
        return
    from strata.app.kept import list_runs, since_of
    from strata.model.remembered import Wanted
    from strata.report.json_ import render_part
    from strata.report.runs_text import runs_text

    wanted = Wanted(
        name=name,
        host=host,
        stack=stack,
        since_unix_ns=None if since is None else since_of(since, time.time_ns()),
    )
    found, verdicts = list_runs(limit, store, wanted, demos=demos)
    if json:
        out(render_part("runs", "runs", found), exact=True)
        return
    out(runs_text(found, common.width(), common.color(), verdicts, narrowed=wanted != Wanted(), demos=demos))


@runs.command("delete")
def delete(
    ids: Annotated[list[str], typer.Argument(help="The runs to delete: ids, or the start of them.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> None:
    """Delete runs from the store, with all their results. Runs that a baseline uses are refused."""
    from strata.app.kept import delete_runs, named_runs
    from strata.report.json_ import render_part
    from strata.report.runs_text import runs_text

    found = named_runs(ids, store)
    if not yes:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            why = "confirmation needs a terminal"
            raise UsageError("cannot delete", ", ".join(r.id for r in found), why, "add --yes")
        note(runs_text(found, common.width(), common.color()))
        if not typer.confirm(f"Delete {units.plural(len(found), 'run')} permanently?", err=True):
            note("nothing was deleted")
            return
    delete_runs([run.id for run in found], store)
    if json:
        out(render_part("runs-deleted", "deleted", [run.id for run in found]), exact=True)
        return
    out("\n".join(f"deleted {run.id}" for run in found))
