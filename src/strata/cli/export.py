"""``strata export``: runs as other tools' files."""

from __future__ import annotations

from typing import Annotated

import typer

from strata.cli import common, completion
from strata.text.output import out


def export(
    form: Annotated[str, typer.Argument(help="What to write: csv, jsonl, markdown, openmetrics, fio or hdr.")],
    run_ids: Annotated[
        list[str] | None,
        typer.Argument(
            help="Run ids, or the starts of them (default: the newest run).", autocompletion=completion.runs
        ),
    ] = None,
    table: Annotated[
        str, typer.Option(help="Rows of csv, jsonl and markdown: cells, rounds, intervals or counters.")
    ] = "cells",
    store: common.StoreUrl = None,
) -> None:
    """Write stored runs as files of other tools: tables, metrics, fio's JSON, HdrHistogram logs."""
    from strata.app.export import export as write

    # As JSON where that is what it is: it keeps its meaning in every encoding.
    out(write(form, run_ids or [], store, table), exact=form in ("jsonl", "fio"))
