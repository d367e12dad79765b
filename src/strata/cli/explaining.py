"""``strata explain``: the evidence of a verdict, row by row."""

from __future__ import annotations

from typing import Annotated

import typer

from strata.cli import common, completing
from strata.text.door import out


def explain(
    run_id: Annotated[
        str | None, typer.Argument(help="Run id or its beginning; default: the newest.", autocompletion=completing.runs)
    ] = None,
    finding: Annotated[
        str | None, typer.Argument(help="Only this finding: its number, or its id.", autocompletion=completing.findings)
    ] = None,
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> None:
    """The evidence of a verdict, row by row: predicted beside measured, what was ruled out, what was tried."""
    from strata.app.kept import load_report
    from strata.report.explained import explained
    from strata.report.explained_text import explained_text

    report = load_report(run_id, store, cells=False)
    found = explained(report, finding)
    out(
        found.model_dump_json(indent=2) if json else explained_text(found, report, common.width(), common.color()), json
    )
