"""A comparison of two runs for the terminal, and as GitHub-flavoured Markdown."""

from __future__ import annotations

from strata import units
from strata.model.compared import CellCompared, Change, ComparedRuns
from strata.report import compare_lines as lines
from strata.report import figures
from strata.report.markdown import bullets, escape, folded, gfm
from strata.report.text_layout import Paint, field, table, wrap

DETAILED = 8
_STYLE = {Change.SLOWER: "red", Change.FASTER: "green", Change.CANNOT_TELL: "yellow"}


def compare_text(compared: ComparedRuns, width: int, color: bool = False) -> str:
    """The whole of it in at most ``width`` columns, without a trailing newline."""
    paint = Paint(color)
    out = paint.lines(wrap(lines.headline(compared), width), "bold")
    for name, side in (("A", compared.a), ("B", compared.b)):
        told = f"{side.run} · {side.stack} · {figures.plural(side.rounds, 'round')}"
        out += field(name, f"{told} · {figures.utc(side.created_unix_ns)}", width, column=1)
    out += ["", *_cells(compared, width, paint)]
    out += _details(compared, width, paint)
    differing = lines.differing(compared)
    if differing:
        out += ["", paint("the environments differ", "bold", "yellow")]
        made = table(("field", "A", "B", "this"), differing, width, elastic=frozenset({0, 1, 2}))
        out += [paint(made[0], "dim"), *made[1:]]
    else:
        out += ["", f"the environments are the same in all {len(compared.environment)} fields"]
    out.append("")
    for remark in lines.remarks(compared):
        out += wrap(f"– {remark}", width, "", "  ")
    return "\n".join(out)


def _cells(compared: ComparedRuns, width: int, paint: Paint) -> list[str]:
    head = ["layer", "workload", "IOPS A", "IOPS B", "IOPS, B against A", "p50", "p99", "verdict"]
    rows = [_row(c, compared.margin, short=width < lines.WIDE) for c in compared.cells]
    return lines.cell_table(head, rows, [_STYLE.get(c.verdict) for c in compared.cells], width, paint)


def _row(cell: CellCompared, margin: float, *, short: bool) -> list[str]:
    p50, p99 = (lines.shift_of(cell, p) for p in ("50", "99"))
    return [
        cell.layer,
        cell.workload_key if short else cell.label,
        units.count(cell.a.value),
        units.count(cell.b.value),
        lines.change(cell.iops),
        lines.short_change(p50.ratio if p50 else None),
        lines.short_change(p99.ratio if p99 else None),
        lines.verdict(cell, margin),
    ]


def _details(compared: ComparedRuns, width: int, paint: Paint) -> list[str]:
    """Where the latency moved, for the cells that changed most."""
    changed = lines.by_change(lines.changed(compared.cells))
    shown = changed[:DETAILED]
    out: list[str] = []
    for cell in shown:
        out += ["", *paint.lines(wrap(f"{cell.layer} · {cell.label}", width), "bold")]
        for line in lines.where_moved(cell):
            out += wrap(line, width, "  ", "    ")
    if len(changed) > len(shown):
        out += ["", f"{len(changed) - len(shown)} more changed; --json has where each of them moved"]
    return out


_MARK = {Change.SLOWER: "🔴 ", Change.FASTER: "🟢 ", Change.CANNOT_TELL: "⚪ ", Change.EQUIVALENT: ""}


def compare_markdown(compared: ComparedRuns) -> str:
    """Headline, table, where it moved, and the environment; a trailing newline is not added."""
    blocks = [f"### Strata: {escape(lines.headline(compared))}", _sides(compared), _table(compared), _moved(compared)]
    blocks += [_environment(compared), bullets(lines.remarks(compared))]
    return "\n\n".join(b for b in blocks if b)


def _sides(compared: ComparedRuns) -> str:
    sides = (("A", compared.a), ("B", compared.b))
    return "  \n".join(
        escape(f"{name}: {side.run} · {side.stack} · {figures.utc(side.created_unix_ns)}") for name, side in sides
    )


def _table(compared: ComparedRuns) -> str:
    head = ["layer", "workload", "verdict", "IOPS A", "IOPS B", "B against A", "p50", "p99"]
    rows = []
    for cell in compared.cells:
        layer, label, *numbers, verdict = _row(cell, compared.margin, short=False)
        rows.append([escape(layer), escape(label), f"{_MARK[cell.verdict]}{verdict}", *numbers])
    return gfm(head, rows, 3)


def _moved(compared: ComparedRuns) -> str:
    parts = []
    for cell in lines.changed(compared.cells):
        parts.append(f"**{escape(cell.layer)} · {escape(cell.label)}**\n\n{bullets(lines.where_moved(cell))}")
    return folded("Where the latency moved", "\n\n".join(parts)) if parts else ""


def _environment(compared: ComparedRuns) -> str:
    differing = lines.differing(compared)
    if not differing:
        return f"The environments are the same in all {len(compared.environment)} fields."
    table = gfm(["field", "A", "B", "this"], [[escape(x) for x in row] for row in differing], 4)
    return f"**The environments differ:**\n\n{table}"
