"""A matrix as GitHub-flavoured Markdown: a table of depth × size for each layer and pattern, an interval in every
cell."""

from __future__ import annotations

from strata import units
from strata.model.matrix import MatrixCell, MatrixResult
from strata.report import figures
from strata.report.markdown import escape, gfm
from strata.report.matrix_text import LEGEND, error, head_words, mark, noise_words, prediction_words, short, worth_words


def render(result: MatrixResult) -> str:
    """Headline, tables, legend and what it is worth; a trailing newline is not added."""
    blocks = [f"### Strata: {escape(head_words(result))}", escape(worth_words(result))]
    for layer in result.layers:
        for pattern in result.ask.grid.patterns:
            cells = [c for c in result.cells if (c.layer, c.pattern) == (layer, pattern)]
            if cells:
                name = f"{layer} · {pattern}" if len(result.layers) > 1 else pattern
                blocks += [f"**{escape(name)}, IOPS**", _table(result, cells)]
    blocks += [escape(LEGEND), escape(noise_words(result)), _remarks(result), _foretold(result)]
    blocks.append(f"<sub>{escape(_origin(result))}</sub>")
    return "\n\n".join(b for b in blocks if b)


def _table(result: MatrixResult, cells: list[MatrixCell]) -> str:
    by = {(c.iodepth, c.bs): c for c in cells}
    head = ["depth", *(units.size(bs) for bs in result.ask.grid.sizes)]
    rows = [[str(depth), *(_cell(by.get((depth, bs))) for bs in result.ask.grid.sizes)]
            for depth in result.ask.grid.depths]  # fmt: skip
    return gfm(head, rows, 0)


def _cell(cell: MatrixCell | None) -> str:
    if cell is None or cell.iops is None:
        return "–"
    # A sign that would begin markup stands as text.
    return f"{short(cell.iops.value)} {error(cell)}{escape(mark(cell).strip())}"


def _origin(result: MatrixResult) -> str:
    """Which run, on which host, when, and the command that measures it again."""
    host, made = result.environment.get("hostname"), result.created_unix_ns
    parts = [f"run {result.run}", str(host or ""), "" if made is None else figures.utc(made), result.repeat]
    return " · ".join(p for p in parts if p)


def _remarks(result: MatrixResult) -> str:
    lines = [f"- {escape(remark)}" for remark in result.remarks]
    absent: dict[str, int] = {}
    for c in result.cells:
        if c.why is not None:
            absent[f"{c.layer}: {c.why}"] = absent.get(f"{c.layer}: {c.why}", 0) + 1
    lines += [f"- – {figures.plural(n, 'cell')} {escape(why)}" for why, n in absent.items()]
    return "\n".join(lines)


def _foretold(result: MatrixResult) -> str:
    if not result.predictions:
        return ""
    lines = "\n".join(f"- {escape(prediction_words(told))}" for told in result.predictions)
    return f"<details><summary>Predictions</summary>\n\n{lines}\n\n</details>"
