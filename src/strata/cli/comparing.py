"""``strata compare``: two runs of the store held against each other."""

from __future__ import annotations

from typing import Annotated

import typer

from strata import units
from strata.cli import common, completing
from strata.text.door import out

Margin = Annotated[str, typer.Option("--margin", help="Change of the IOPS up to which two cells count as equal.")]
Anyway = Annotated[bool, typer.Option("--anyway", help="Also where the environments forbid it; they are shown.")]


def compare(
    a: Annotated[
        str,
        typer.Argument(
            help="The run that is compared with: its id or the beginning of it.", autocompletion=completing.runs
        ),
    ],
    b: Annotated[
        str | None, typer.Argument(help="The run in question; default: the newest.", autocompletion=completing.runs)
    ] = None,
    margin: Margin = "5%",
    between_runs: Annotated[
        str | None, typer.Option(help="What equal runs differ by, e.g. 3%; default: learnt from the store.")
    ] = None,
    anyway: Anyway = False,
    html: common.HtmlPath = None,
    markdown: common.MarkdownPath = None,
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> None:
    """Compare two runs cell by cell: what is slower, faster or equivalent, and where the latency moved.

    The environments are compared field by field; runs of different generators, builds, sizes or run times are refused.
    """
    from strata.app.comparing import compare_runs
    from strata.app.outputs import check_output, write_output
    from strata.report.compare_text import compare_text

    for path in (html, markdown):
        if path is not None:
            check_output(path)
    compared = compare_runs(
        a,
        b,
        store,
        margin=units.parse_share(margin),
        between_runs=None if between_runs is None else units.parse_share(between_runs),
        anyway=anyway,
    )
    if html is not None:
        # The template library is loaded for a page only.
        from strata.report.html import compare as page

        write_output(html, page.render(compared))
    if markdown is not None:
        from strata.report import compare_markdown

        write_output(markdown, compare_markdown.render(compared) + "\n")
    out(compared.model_dump_json(indent=2) if json else compare_text(compared, common.width(), common.color()), json)
