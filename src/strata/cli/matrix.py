"""``--matrix`` of ``strata plan`` and ``strata measure``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from strata import units
from strata.cli import common
from strata.errors import Exit
from strata.text.output import note

if TYPE_CHECKING:
    from strata.app.matrix_plan import MatrixWords
    from strata.app.options import Options
    from strata.cli.bundles import Output, Pages
    from strata.model.matrix import MatrixResult
    from strata.model.progress import Progress


def plan(where: str, words: MatrixWords, options: Options, json: bool) -> None:
    """Print what a matrix would take and bring."""
    from strata.app.matrix import plan_matrix
    from strata.report.matrix_text import matrix_plan_text

    made = plan_matrix(where, words, options)
    common.show(made, lambda made, *shape: matrix_plan_text(made.plan, made.prediction, *shape), json)


def measured(output: Output, measure: Callable[[Callable[[Progress], None]], MatrixResult]) -> Exit:
    """Have a matrix measured, show its progress, and publish it. Inconclusive where every cell was to be within ±until
    and is not."""
    with common.display(output.progress) as emit:
        result = measure(emit)
    publish(result, output)
    if result.ask.promised and not result.reached:
        asked = f"not every cell reached an interval of ±{units.percent(result.ask.target, 2)}"
        note(f"{asked}; the tables show the interval of each cell, or below them why it has none")
        return Exit.INCONCLUSIVE
    return Exit.FINE


def publish(result: MatrixResult, output: Pages) -> None:
    """Print it and write what was asked."""
    from strata.app.outputs import write_output
    from strata.report.matrix_text import matrix_markdown, matrix_text

    if output.html is not None:
        from strata.report.html import matrix as page

        write_output(output.html, page.render(result))
    if output.markdown is not None:
        write_output(output.markdown, matrix_markdown(result))
    output.write_cells(result)
    common.show(result, matrix_text, output.json)
    output.said_where()
