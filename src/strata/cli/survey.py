"""``strata survey``: what is under a path, and what will spoil a measurement there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strata.cli.common import JsonFlag, color, width
from strata.text.output import note, out


def survey(
    path: Annotated[Path, typer.Argument(help="A file or directory on the storage, or a stack file.")] = Path(),
    json: JsonFlag = False,
    write: Annotated[Path | None, typer.Option(help="Write a draft of the stack file for this path.")] = None,
) -> None:
    """Show device chain, file system, caches, CPUs, limits and load under PATH, with warnings."""
    from strata.app import outputs
    from strata.app import survey as app_survey
    from strata.report.json_ import render_part
    from strata.report.survey_text import survey_text

    if write is not None:
        outputs.check_output(write)
    found = app_survey.survey_path(path)
    if write is not None:
        outputs.write_output(write, app_survey.draft_stack(found, path), outputs.Seal.TOML)
        note(f"stack file drafted: {write}")
    out(render_part("survey", "survey", found) if json else survey_text(found, width(), color()), json)
