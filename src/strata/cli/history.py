"""``strata compare``, ``history``, ``gate`` and ``baseline``: what earlier runs say of a later one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from strata import units
from strata.cli import common, completion, tables
from strata.cli.bundles import CellFiles, Pages
from strata.errors import Exit, UsageError
from strata.model.margin import MARGIN
from strata.text.output import out

Margin = Annotated[str, typer.Option(help="Largest change in IOPS that counts as equivalent.")]
Anyway = Annotated[
    bool, typer.Option("--anyway", help="Continue even if the environments differ too much; the differences are shown.")
]


def compare(
    output: Pages,
    a: Annotated[
        str,
        typer.Argument(help="The reference run: its id, or the start of it.", autocompletion=completion.runs),
    ],
    b: Annotated[
        str | None,
        typer.Argument(help="The run to compare with it (default: the newest).", autocompletion=completion.runs),
    ] = None,
    margin: Margin = f"{MARGIN:.0%}",
    between_runs: Annotated[
        str | None, typer.Option(help="Variation between identical runs, e.g. 3% (default: estimated from the store).")
    ] = None,
    anyway: Anyway = False,
) -> None:
    """Compare two runs cell by cell. Shows what is slower, faster or equivalent, and where latency changed.

    The environments are compared field by field. Runs with different generators, builds, sizes or run times are
    refused.
    """
    from strata.app.compare import compare_runs
    from strata.app.outputs import write_output
    from strata.report.compare_text import compare_markdown, compare_text

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
        write_output(output.markdown, compare_markdown(compared))
    output.write_cells(compared)
    common.show(compared, compare_text, output.json)


Last = Annotated[int | None, typer.Option("--last", min=1, help="Use this many of the newest finished runs.")]


def history(
    files: CellFiles,
    cell: Annotated[
        str | None, typer.Argument(help="A cell as LAYER/WORKLOAD, e.g. disk/randread-8KiB-qd8; * is a wildcard.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every cell ever measured.")] = False,
    demos: Annotated[bool, typer.Option("--demos", help="Include cells of demos.")] = False,
    last: Last = None,
    html: common.HtmlPath = None,
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> None:
    """Show one cell over all runs, with its level changes. Beside the chart and the table: changes in the
    environment.
    """
    from strata.app.history import history_of
    from strata.app.outputs import write_output
    from strata.report.history_text import history_text

    if (cell is None) != every:
        raise UsageError("give one cell or", "--all", "", "strata history --all lists the cells")
    files.check(html)
    found = history_of(cell, store, last, demos=demos)
    if html is not None:
        # The template library is loaded for a page only.
        from strata.report.html import history as page

        write_output(html, page.render(found))
    files.write_cells(found)
    common.show(found, history_text, json)


def gate(
    files: CellFiles,
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            help="The candidate runs (default: the newest run made after the baseline).", autocompletion=completion.runs
        ),
    ] = None,
    against: Annotated[str, typer.Option(help="Name of the baseline.", autocompletion=completion.baselines)] = "main",
    max_loss: Annotated[str, typer.Option(help="Smallest loss of IOPS that must be detected, in any cell.")] = "10%",
    noise: Annotated[
        str | None,
        typer.Option(help="Variation between identical runs, e.g. 4% (default: the spread of the baseline's runs)."),
    ] = None,
    last: Last = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file, one test case per cell.")] = None,
    markdown: common.MarkdownPath = None,
    anyway: Anyway = False,
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> int:
    """Check runs for a regression. Exit 0: no cell lost --max-loss; 3: at least one did; 4: inconclusive, and why."""
    from strata.app.history import gate_runs
    from strata.app.outputs import write_output
    from strata.model.history import GateOutcome
    from strata.report.gate_text import gate_markdown, gate_text
    from strata.report.junit import gate_junit

    files.check(junit, markdown)
    loss = units.parse_share(max_loss)
    if loss <= 0:
        raise UsageError("cannot look for a loss of", max_loss, "it must be above 0 %", "for example: --max-loss 10%")
    found = gate_runs(
        against,
        runs or (),
        last,
        store,
        max_loss=loss,
        noise=None if noise is None else units.parse_share(noise),
        anyway=anyway,
    )
    if junit is not None:
        write_output(junit, gate_junit(found) + "\n")
    if markdown is not None:
        write_output(markdown, gate_markdown(found) + "\n")
    files.write_cells(found)
    common.show(found, gate_text, json)
    codes = {GateOutcome.FINE: Exit.FINE, GateOutcome.REGRESSION: Exit.GATE}
    return codes.get(found.outcome, Exit.INCONCLUSIVE)


def baseline(
    context: typer.Context,
    what: Annotated[
        Literal["save", "promote", "list", "show"],
        typer.Argument(help="save (a new baseline), promote (new runs for an existing one), list or show."),
    ],
    name: Annotated[
        str | None, typer.Argument(help="Name of the baseline.", autocompletion=completion.baselines)
    ] = None,
    runs: Annotated[
        list[str] | None,
        typer.Argument(help="Runs of the baseline (default: the newest finished run).", autocompletion=completion.runs),
    ] = None,
    last: Last = None,
    note: Annotated[str, typer.Option(help="Reason, stored with the baseline.")] = "",
    anyway: Anyway = False,
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> None:
    """Manage saved runs to compare later runs with. Every version of a baseline is kept; the newest is used."""
    tables.BASELINE.check(context, what)
    from strata.app.history import list_baselines, save_baseline
    from strata.report.history_text import baselines_text
    from strata.report.json_ import render_part

    if what == "list":
        found = list_baselines(store)
    elif name is None:
        raise UsageError(f"cannot {what} a baseline", "without a name", "", f"strata baseline {what} main")
    elif what == "show":
        found = tuple(b for b in list_baselines(store) if b.name == name)
        if not found:
            raise UsageError("there is no baseline", repr(name), "", "strata baseline list")
    else:
        found = (save_baseline(name, runs or (), last, note, store, new=what == "save", anyway=anyway),)
    if json:
        out(render_part("baselines", "baselines", found), exact=True)
        return
    out(baselines_text(found, common.width(), common.color()))
    if what == "show":
        out("\n".join(f"  {run}" for run in found[0].runs))
