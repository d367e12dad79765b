"""The ladder as fixed-width text. Columns that do not fit beside each other are stacked; a cell is never broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strata import units
from strata.report import figures
from strata.report.ladder import MEANING, Column, Ladder, Mark, Row, Square
from strata.report.textual import Paint, cell_len, clean, left, right, wrap, wrap_cell

GAP = 2
RICH_WIDTH = 120
_STYLES: dict[Mark, tuple[str, ...]] = {
    Mark.SAME: ("green",),
    Mark.SLOWER: ("yellow", "bold"),
    Mark.MUCH_SLOWER: ("red", "bold"),
    Mark.FASTER: ("cyan", "bold"),
    Mark.UNSURE: ("yellow",),
}


@dataclass(frozen=True)
class _Drawn:
    """A column ready to print: heading lines and one text per row, all ``width`` cells wide."""

    head: tuple[str, ...]
    cells: tuple[str, ...]
    styles: tuple[tuple[str, ...], ...]
    width: int


def _parts(square: Square, level: int) -> tuple[str, tuple[str, ...]]:
    """The kind of a square and its parts: level 0 is the least, 2 the most that is shown."""
    if square.summary is None:
        return "empty", ("–",)
    if square.comparison is None:
        s = square.summary
        more: tuple[str, ...] = ()
        if level >= 1:
            more += (figures.share_error(s.iops), units.rate(s.bytes_per_second.value))
        if level >= 2 and "50" in s.latency_ns:
            more += (f"p50 {units.duration(s.latency_ns['50'].value)}",)
        return "absolute", (units.count(s.iops.value), "IOPS", *more)
    c = square.comparison
    base = (figures.ratio(c.iops), figures.ratio_error(c.iops), square.mark or "")
    return "ratio", (*base, figures.signed_duration(c.added_ns.value)) if level >= 2 else base


def _column_cells(squares: Sequence[Square], level: int) -> list[str]:
    """Aligns the parts of equal kind under each other: figures to the right, words and marks to the left."""
    made = [_parts(s, level) for s in squares]
    sizes: dict[tuple[str, int], int] = {}
    for kind, parts in made:
        for i, part in enumerate(parts):
            sizes[kind, i] = max(sizes.get((kind, i), 0), cell_len(part))

    def one(kind: str, parts: tuple[str, ...]) -> str:
        words = {"absolute": {1}, "ratio": {1, 2}, "empty": {0}}[kind]
        return " ".join(
            (left if i in words else right)(p, sizes[kind, i]) for i, p in enumerate(parts) if sizes[kind, i]
        ).rstrip()

    return [one(kind, parts) for kind, parts in made]


def _draw(column: Column, squares: Sequence[Square], level: int, most: int) -> _Drawn:
    cells = _column_cells(squares, level)
    titles = (clean(column.layer), clean(column.subtitle))
    widest = max(cell_len(c) for c in cells)
    title = max(cell_len(t) for t in titles)
    width = max(widest, min(title, most))
    head = (*wrap_cell(titles[0], width), *wrap_cell(titles[1], width))
    styles = tuple(_STYLES[s.mark] if s.mark else () for s in squares)
    return _Drawn(head, tuple(cells), styles, width)


def _short(shape: str) -> str:
    return shape.replace("depth ", "qd").replace(" threads", "t").replace(" KiB", "K").replace(" MiB", "M")


def _labels(rows: Sequence[Row], narrow: bool) -> list[str]:
    """Pattern and shape in two columns of their own."""
    wide = max(cell_len(r.workload.pattern) for r in rows)
    return [
        f"{left(r.workload.pattern, wide)}  {_short(r.shape) if narrow else r.shape}".rstrip()
        if r.shape
        else r.workload.pattern
        for r in rows
    ]


def _blocks(columns: Sequence[_Drawn], room: int) -> list[list[_Drawn]]:
    blocks: list[list[_Drawn]] = [[]]
    for column in columns:
        used = sum(c.width + GAP for c in blocks[-1])
        if blocks[-1] and used + column.width > room:
            blocks.append([])
        blocks[-1].append(column)
    return blocks


def _fitting(ladder: Ladder, width: int) -> tuple[list[str], list[list[_Drawn]]]:
    """Labels and blocks of the richest form that fits in one block; the barest one in several where none does."""
    squares = [[row.squares[i] for row in ladder.rows] for i in range(len(ladder.columns))]
    levels = (2, 1, 0) if width >= RICH_WIDTH else (0,)
    # (how much a square shows, shortened shapes, how wide a heading may make a column)
    forms = [(level, False, 26) for level in levels] + [(0, False, 16), (0, True, 16), (0, True, 13)]
    labels: list[str] = []
    blocks: list[list[_Drawn]] = []
    for level, narrow, heading in forms:
        labels = _labels(ladder.rows, narrow)
        drawn = [_draw(c, s, level, heading) for c, s in zip(ladder.columns, squares, strict=True)]
        blocks = _blocks(drawn, width - 2 - max(map(cell_len, labels)) - GAP)
        if len(blocks) == 1:
            break
    return labels, blocks


def lines(ladder: Ladder, width: int, paint: Paint) -> list[str]:
    """The table, its legend and why squares are empty."""
    if not ladder.rows:
        return ["  nothing was measured"]
    labels, blocks = _fitting(ladder, width)
    label_width = max(map(cell_len, labels))
    out: list[str] = []
    for block in blocks:
        if out:
            out.append("")
        height = max(len(c.head) for c in block)
        for i in range(height):
            texts = [left(([""] * (height - len(c.head)) + list(c.head))[i], c.width) for c in block]
            out.append(paint((" " * (2 + label_width + GAP) + (" " * GAP).join(texts)).rstrip(), "bold"))
        for r, label in enumerate(labels):
            cells = [paint(c.cells[r], *c.styles[r]) + " " * (c.width - cell_len(c.cells[r])) for c in block]
            out.append(("  " + left(label, label_width) + " " * GAP + (" " * GAP).join(cells)).rstrip())
    legend = " · ".join(f"{mark} {MEANING[mark]}" for mark in ladder.marks)
    notes = [f"– {note}" for note in ladder.notes()]
    tail = [*wrap(legend, width, "  ")] if legend else []
    for note in notes:
        tail += wrap(note, width, "  ", "    ")
    return [*out, *([""] if tail else []), *(paint(t, "dim") for t in tail)]
