"""A matrix as one HTML page: for each layer and pattern a heat map of each quantity, and every figure as a table."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from strata.model.matrix import MatrixCell, MatrixResult
from strata.model.percentiles import PERCENTILES
from strata.report import matrix_text, survey_facts, words
from strata.report.html import frame
from strata.report.html.charts.heatmap import PERCENTILE_MAPS, QUANTITIES, Quantity, heatmap, width_of
from strata.report.html.frame import Cell, ends, interval, text_of, value_of


@dataclass(frozen=True)
class PatternPanel:
    """One pattern at one layer. ``maps``: each quantity and its chart, None where no cell has it; ``percentiles``:
    those of the time that any cell has."""

    name: str
    maps: tuple[tuple[Quantity, Markup | None], ...]
    percentiles: tuple[tuple[Quantity, Markup], ...]
    cells: tuple[MatrixCell, ...]

    @property
    def measured(self) -> bool:
        """Whether any cell of it was."""
        return any(chart is not None for _, chart in self.maps)

    def lacks(self, quantity: Quantity) -> bool:
        """Whether a measured cell has no figure of it."""
        return any(c.iops is not None and not quantity.read(c) for c in self.cells)


def render(result: MatrixResult, site: Markup | None = None) -> str:
    """The whole page as one string of HTML."""
    return frame.render(
        "matrix.html",
        csv_of(result),
        f"strata-{result.run}",
        ("matrix.css",),
        site=site,
        result=result,
        panels=_panels(result),
        natural=width_of(result.ask.grid.sizes),
        head=matrix_text.head_words(result),
        worth=matrix_text.worth_words(result),
        noise=matrix_text.noise_words(result),
        p99_needs=words.needs("99"),
        survey_facts=survey_facts,
        percentiles=PERCENTILES,
        predictions=[matrix_text.prediction_words(p) for p in result.predictions],
    )


def csv_of(result: MatrixResult) -> str:
    """A row for each cell of the plan; what was not measured says why."""
    head = ["run", "where", "layer", "pattern", "workload", "bs_bytes", "iodepth", "given", *interval("iops")]
    head += ["measured_iops", "smoothed_iops", "bytes_per_second", "mean_ns", *(f"p{name}_ns" for name in PERCENTILES)]
    head += ["ios", "visits", "seconds", "kink", "moved", "generator_bound", "why"]
    return text_of(head, ([result.run, result.where, *_figures(c)] for c in result.cells))


def _figures(c: MatrixCell) -> list[Cell]:
    return [
        c.layer, c.pattern, c.workload.key, c.bs, c.iodepth, c.given.value, *ends(c.iops), value_of(c.measured),
        value_of(c.smoothed), c.bytes_per_second, c.mean_ns, *map(c.percentile_ns, PERCENTILES), c.ios, c.visits,
        c.seconds, int(c.kink), int(c.moved), int(c.generator_bound), c.why,
    ]  # fmt: skip


def _panels(result: MatrixResult) -> list[PatternPanel]:
    grid = result.ask.grid
    found: list[PatternPanel] = []
    for at, (name, cells) in enumerate(matrix_text.panels(result)):
        drawn = [
            (q, heatmap(f"heat-{at}-{n}", f"{name}: {q.name} by depth and size", q, cells, grid.depths, grid.sizes))
            for n, q in enumerate((*QUANTITIES, *PERCENTILE_MAPS))
        ]
        maps, percentiles = drawn[: len(QUANTITIES)], drawn[len(QUANTITIES) :]
        known = tuple((q, chart) for q, chart in percentiles if chart is not None)
        found.append(PatternPanel(name, tuple(maps), known, tuple(cells)))
    return found
