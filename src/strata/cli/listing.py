"""``strata runs``: what is in the store, and taking runs out of it."""

from __future__ import annotations

import json as codec
import sys
import time
from typing import Annotated

import typer

from strata.cli import common
from strata.cli.helping import Commands
from strata.cli.ways import spellings, typed
from strata.errors import UsageError
from strata.text.door import note, out

runs = Commands("runs", "The runs in the store, the newest first.", invoke_without_command=True, bare=True)


@runs.callback()
def list_them(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
    name: Annotated[str | None, typer.Option(help="Only those of this name; * stands for any.")] = None,
    host: Annotated[str | None, typer.Option(help="Only those measured from this host; * stands for any.")] = None,
    stack: Annotated[str | None, typer.Option(help="Only those of this stack or endpoint; * stands for any.")] = None,
    since: Annotated[str | None, typer.Option(help="Only those made since 2026-11-20 (UTC) or 7d ago.")] = None,
    demos: Annotated[bool, typer.Option("--demos", help="Those of demos too.")] = False,
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
    from strata.report.json_ import render_runs
    from strata.report.listing_text import runs_text

    wanted = Wanted(
        name=name,
        host=host,
        stack=stack,
        since_unix_ns=None if since is None else since_of(since, time.time_ns()),
    )
    found, verdicts = list_runs(limit, store, wanted, demos=demos)
    if json:
        out(render_runs(found), exact=True)
        return
    out(runs_text(found, common.width(), common.color(), verdicts, narrowed=wanted != Wanted(), demos=demos))


@runs.command("delete")
def delete(
    ids: Annotated[list[str], typer.Argument(help="The runs: ids, or their beginnings.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> None:
    """Take runs out of the store with all that was measured in them. What a baseline stands on is refused."""
    from strata.app.kept import delete_runs, named_runs
    from strata.report.listing_text import runs_text

    found = named_runs(ids, store)
    if not yes:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            why = "nobody is there to be asked"
            raise UsageError("will not delete", ", ".join(r.id for r in found), why, "add --yes")
        note(runs_text(found, common.width(), common.color()))
        if not typer.confirm(f"Delete {len(found)} run{'s' * (len(found) > 1)} for good?", err=True):
            note("nothing was deleted")
            return
    delete_runs([run.id for run in found], store)
    if json:
        gone = {"schema": "strata.runs-deleted/1", "deleted": [run.id for run in found]}
        out(codec.dumps(gone, indent=2), exact=True)
        return
    out("\n".join(f"deleted {run.id}" for run in found))
