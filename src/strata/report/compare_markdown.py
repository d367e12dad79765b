"""A comparison of two runs as GitHub-flavoured Markdown."""

from __future__ import annotations

from strata import units
from strata.model.compared import Change, ComparedRuns
from strata.report import compare_lines as lines
from strata.report import figures
from strata.report.markdown import escape, gfm

_MARK = {Change.SLOWER: "🔴 ", Change.FASTER: "🟢 ", Change.CANNOT_TELL: "⚪ ", Change.EQUIVALENT: ""}


def render(compared: ComparedRuns) -> str:
    """Headline, table, where it moved, and the environment; a trailing newline is not added."""
    blocks = [f"### Strata: {escape(lines.headline(compared))}", _sides(compared), _table(compared), _moved(compared)]
    blocks += [_environment(compared), "\n".join(f"- {escape(r)}" for r in lines.remarks(compared))]
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
        p50, p99 = (lines.shift_of(cell, p) for p in ("50", "99"))
        rows.append(
            [
                escape(cell.layer),
                escape(cell.label),
                f"{_MARK[cell.verdict]}{lines.verdict(cell, compared.margin)}",
                units.count(cell.a.value),
                units.count(cell.b.value),
                lines.change(cell.iops),
                lines.short_change(p50.ratio if p50 else None),
                lines.short_change(p99.ratio if p99 else None),
            ]
        )
    return gfm(head, rows, 3)


def _moved(compared: ComparedRuns) -> str:
    parts = []
    for cell in compared.cells:
        if cell.verdict in (Change.SLOWER, Change.FASTER):
            points = "\n".join(f"- {escape(x)}" for x in lines.where_moved(cell))
            parts.append(f"**{escape(cell.layer)} · {escape(cell.label)}**\n\n{points}")
    if not parts:
        return ""
    return "<details><summary>Where the latency moved</summary>\n\n" + "\n\n".join(parts) + "\n\n</details>"


def _environment(compared: ComparedRuns) -> str:
    differing = lines.differing(compared)
    if not differing:
        return f"The environments are the same in all {len(compared.environment)} fields."
    table = gfm(["field", "A", "B", "this"], [[escape(x) for x in row] for row in differing], 4)
    return f"**The environments differ:**\n\n{table}"
