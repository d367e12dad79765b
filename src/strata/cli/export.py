"""``strata export``: runs as other tools' files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strata.cli import common, completion
from strata.errors import UsageError
from strata.text.output import note, out


def export(
    form: Annotated[
        str,
        typer.Argument(help="What to write: csv, fio, fio-plot, hdr, jsonl, junit, markdown, openmetrics or parquet."),
    ],
    run_ids: Annotated[
        list[str] | None,
        typer.Argument(
            help="Run ids, or the starts of them (default: the newest run).", autocompletion=completion.runs
        ),
    ] = None,
    table: Annotated[
        str, typer.Option(help="Rows of csv, jsonl, markdown and parquet: cells, rounds, intervals, counters or runs.")
    ] = "cells",
    output: Annotated[
        Path | None,
        typer.Option(help="Write to this file (default: stdout; parquet needs it, and fio-plot a new folder)."),
    ] = None,
    store: common.StoreUrl = None,
) -> None:
    """Write stored runs as files of other tools. Formats: tables, metrics, test reports, fio's JSON,
    HdrHistogram logs.
    """
    from strata.app.export import export as write
    from strata.app.export import write_export

    made = write(form, run_ids or [], store, table)
    if output is not None:
        write_export(output, made)
        note(f"written: {output.resolve()}")
    elif isinstance(made, str):
        # As JSON where that is what it is: it keeps its meaning in every encoding.
        out(made, exact=form in ("jsonl", "fio"))
    else:
        what = "no text" if isinstance(made, bytes) else "a folder"
        raise UsageError("cannot print", form, f"it is {what}", f"strata export {form} --output PATH")
