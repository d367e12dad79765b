"""``strata report``, ``strata explain`` and ``strata clean``: what earlier runs left, on purpose or not."""

from __future__ import annotations

from typing import Annotated

import typer

from strata import units
from strata.cli import common, completion
from strata.cli.bundles import Pages
from strata.text.output import note, out


def report(
    output: Pages,
    run_id: Annotated[
        str | None,
        typer.Argument(help="Run id, or the start of it (default: the newest run).", autocompletion=completion.runs),
    ] = None,
) -> None:
    """Print the report of a stored run, or write it to a file."""
    from strata.app.kept import load_kept
    from strata.cli import matrix, scale
    from strata.model.matrix import MatrixResult
    from strata.model.scale import ScaleResult

    output.check()
    found = load_kept(run_id, output.store)
    if isinstance(found, MatrixResult):
        matrix.publish(found, output)
        return
    if isinstance(found, ScaleResult):
        scale.publish(found, output)
        return
    output.publish(found)


def clean(json: common.JsonFlag = False) -> None:
    """Remove test files and traces that killed runs left. Removes only files and tracing instances of Strata's own
    runs.
    """
    from strata.app.clean import clean_files, clean_remote, clean_tracing
    from strata.report.json_ import render_part

    files = clean_files()
    shared, unreached = clean_remote()
    instances, left = clean_tracing()
    removed = [str(path) for path in (*files, *shared, *instances)]
    for why in unreached:
        note(f"not removed, to be retried by the next strata clean: {why}")
    for name in left:
        note(f"not removed: tracing instance {name}; run strata clean as root where tracefs is mounted")
    if json:
        out(render_part("clean", "removed", removed), exact=True)
        return
    for path in removed:
        note(f"removed {path}")
    more = f", {units.plural(len(instances), 'tracing instance')}" if instances else ""
    out(f"{units.plural(len(files) + len(shared), 'file')} removed{more}")


def explain(
    run_id: Annotated[
        str | None,
        typer.Argument(help="Run id, or the start of it (default: the newest run).", autocompletion=completion.runs),
    ] = None,
    finding: Annotated[
        str | None, typer.Argument(help="Show only this finding: its number or id.", autocompletion=completion.findings)
    ] = None,
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> None:
    """Show the evidence for a verdict. Lists predicted and measured rows, causes ruled out, and experiments."""
    from strata.app.kept import load_report
    from strata.report.explained import explained, explained_text

    report = load_report(run_id, store, cells=False)
    found = explained(report, finding)
    common.show(found, lambda found, *shape: explained_text(found, report, *shape), json)
