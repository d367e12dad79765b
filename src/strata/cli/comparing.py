"""``strata compare``: two runs of the store compared with each other."""

from __future__ import annotations

from typing import Annotated

import typer

from strata import units
from strata.cli import common, completing
from strata.cli.bundles import Pages
from strata.text.door import out

Margin = Annotated[str, typer.Option("--margin", help="Largest change in IOPS that counts as equal.")]
Anyway = Annotated[
    bool, typer.Option("--anyway", help="Continue even if the environments differ too much; the differences are shown.")
]


def compare(
    output: Pages,
    a: Annotated[
        str,
        typer.Argument(help="The reference run: its id, or the start of it.", autocompletion=completing.runs),
    ],
    b: Annotated[
        str | None,
        typer.Argument(help="The run to compare with it (default: the newest).", autocompletion=completing.runs),
    ] = None,
    margin: Margin = "5%",
    between_runs: Annotated[
        str | None, typer.Option(help="Variation between identical runs, e.g. 3% (default: estimated from the store).")
    ] = None,
    anyway: Anyway = False,
) -> None:
    """Compare two runs cell by cell: what is slower, faster or equivalent, and where latency changed.

    The environments are compared field by field. Runs with different generators, builds, sizes or run times are
    refused.
    """
    from strata.app.comparing import compare_runs
    from strata.app.outputs import write_output
    from strata.report.compare_text import compare_text

    output.check()
    compared = compare_runs(
        a,
        b,
        output.store,
        margin=units.parse_share(margin),
        between_runs=None if between_runs is None else units.parse_share(between_runs),
        anyway=anyway,
    )
    if output.html is not None:
        # The template library is loaded for a page only.
        from strata.report.html import compare as page

        write_output(output.html, page.render(compared))
    if output.markdown is not None:
        from strata.report import compare_markdown

        write_output(output.markdown, compare_markdown.render(compared) + "\n")
    text = compare_text(compared, common.width(), common.color())
    out(compared.model_dump_json(indent=2) if output.json else text, output.json)
