"""A matrix as one HTML page: a heat map for each layer and pattern, and every figure as a table."""

from __future__ import annotations

from markupsafe import Markup

from strata.model.matrix import MatrixCell, MatrixResult
from strata.report import matrix_text
from strata.report.html.charts.heatmap import heatmap, said
from strata.report.html.frame import environment


def render(result: MatrixResult) -> str:
    """The whole page as one string of HTML."""
    env = environment()
    assert env.loader is not None
    style, own = (Markup(env.loader.get_source(env, name)[0]) for name in ("style.css", "matrix.css"))
    grid = result.ask.grid
    panels: list[tuple[str, Markup | None, list[MatrixCell]]] = []
    for layer in result.layers:
        for pattern in grid.patterns:
            cells = [c for c in result.cells if (c.layer, c.pattern) == (layer, pattern)]
            name = f"{layer} · {pattern}" if len(result.layers) > 1 else pattern
            chart = heatmap(f"heat-{len(panels)}", f"{name}: IOPS by depth and size", cells, grid.depths, grid.sizes)
            panels.append((name, chart, cells))
    return env.get_template("matrix.html").render(
        style=style,
        own=own,
        result=result,
        panels=panels,
        said=said,
        share=matrix_text.share,
        mark=matrix_text.mark,
        head=matrix_text.head_words(result),
        worth=matrix_text.worth_words(result),
        noise=matrix_text.noise_words(result),
        predictions=[" ".join(x.strip() for x in matrix_text.prediction_lines(p, 10_000)) for p in result.predictions],
    )
