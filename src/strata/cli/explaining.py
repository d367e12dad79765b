"""``strata explain``: the evidence of a verdict, row by row."""

from __future__ import annotations

from typing import Annotated

import typer

from strata.cli import common, completing
from strata.text.door import out


def explain(
    run_id: Annotated[
        str | None,
        typer.Argument(help="Run id, or the start of it (default: the newest run).", autocompletion=completing.runs),
    ] = None,
    finding: Annotated[
        str | None, typer.Argument(help="Show only this finding: its number or id.", autocompletion=completing.findings)
    ] = None,
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> None:
    """Show the evidence for a verdict: predicted and measured rows, causes ruled out, and experiments."""
    from strata.app.kept import load_report
    from strata.report.explained import explained
    from strata.report.explained_text import explained_text

    report = load_report(run_id, store, cells=False)
    found = explained(report, finding)
    out(
        found.model_dump_json(indent=2) if json else explained_text(found, report, common.width(), common.color()), json
    )
