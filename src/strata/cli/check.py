"""``strata check``: the consistency laws over a file of figures or a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strata.cli import common, completion, tables
from strata.errors import Exit


def check(
    context: typer.Context,
    what: Annotated[
        str | None,
        typer.Argument(
            help="A table (CSV, TSV), a result of another tool, or a run id (default: the newest run).",
            autocompletion=completion.runs,
        ),
    ] = None,
    column: common.Columns = None,
    plan: Annotated[
        Path | None, typer.Option(help="Table of planned values to check the measured rows against.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 3 for misleading figures too.")] = False,
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> int:
    """Check figures against the consistency laws. Shows which rows are impossible, which are misleading, and why.

    Exit code 3 if a law is broken, 4 if no law could be checked.
    """
    from strata.app import check as app_check
    from strata.report.check_text import check_text

    path = Path(what) if what is not None else None
    is_file = path is not None and (path.exists() or path.suffix or "/" in str(path))
    tables.CHECKED.check(context, tables.FIGURES if is_file else tables.STORED)
    if path is not None and is_file:
        found = app_check.check_file(path, common.columns(column), plan)
    else:
        found = app_check.check_run(what, store)
    common.show(found, check_text, json)
    if found.broken or (strict and found.flags):
        return Exit.GATE
    return Exit.FINE if found.asked else Exit.INCONCLUSIVE
