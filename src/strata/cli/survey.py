"""``strata survey``: what is under a path, what will spoil a measurement there, and what differs between nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strata.cli import common, tables
from strata.errors import UsageError
from strata.text.output import note, out


def survey(
    context: typer.Context,
    where: Annotated[
        list[str] | None,
        typer.Argument(
            help="A file or directory on the storage, or a stack file; with --compare several of these, or documents "
            "of --json (.json).",
        ),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Show what differs between two or more nodes, field by field.")
    ] = False,
    json: common.JsonFlag = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every fact, and the reason and next step of every notice.")
    ] = False,
    markdown: Annotated[
        Path | None, typer.Option(help="With --compare: write the differences as Markdown to this file.")
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(
            help="With --compare and one stack file: survey its nodes that have joined this scheduler, e.g. "
            "tls://host:8786."
        ),
    ] = None,
    write: Annotated[Path | None, typer.Option(help="Write a draft of the stack file for this path.")] = None,
) -> None:
    """Show the storage stack under WHERE, with warnings. Lists the device
    chain, file system, caches, paths, health, CPUs, cards, limits and load."""
    from strata.app import outputs
    from strata.app import survey as app_survey
    from strata.report.json_ import render_part
    from strata.report.survey_text import survey_text

    tables.SURVEY.check(context, tables.COMPARED if compare else tables.SURVEYED)
    if compare:
        _compare(where or [], nodes, markdown, json)
        return
    if len(where or ()) > 1:
        raise UsageError("cannot survey", (where or [])[1], "one path is surveyed at a time", "or add --compare")
    path = where[0] if where else "."
    if write is not None:
        outputs.check_output(write)
    found = app_survey.survey_path(path)
    if write is not None:
        outputs.write_output(write, app_survey.draft_stack(found, path), outputs.Seal.TOML)
        note(f"stack file drafted: {write}")
    if json:
        out(render_part("survey", "survey", found), json)
    else:
        out(survey_text(found, common.width(), common.color(), verbose))


def _compare(where: list[str], nodes: str | None, markdown: Path | None, json: bool) -> None:
    from strata.app import outputs
    from strata.app import survey as app_survey
    from strata.report.survey_compare_text import survey_compare_markdown, survey_compare_text

    if markdown is not None:
        outputs.check_output(markdown)
    found = app_survey.compare_surveys(where, nodes)
    if markdown is not None:
        outputs.write_output(markdown, survey_compare_markdown(found))
    common.show(found, survey_compare_text, json)
