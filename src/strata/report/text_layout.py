"""Plain text in cells: width as a terminal counts it, wrapping that keeps a number with its unit, ANSI paint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import rich.cells

from strata.text.controls import line as clean
from strata.text.output import style
from strata.text.plain import written

__all__ = [
    "NOTHING", "READING_WIDTH", "Paint", "cell_len", "clean", "field", "fit", "left", "right", "table", "tables",
    "wrap", "wrap_cell",
]  # fmt: skip

_GLUE = re.compile(r"(?<=\d) (?=%|[µnm]?s\b|min\b|[KMGT]?i?B\b|IOPS\b)")
_GLUED = "\u00a0"
ELLIPSIS = "…"
BARS = "▁▂▃▄▅▆▇█"
NOTHING = "–"
"""In a cell: no figure."""
NAME_LEAST = 16
"""Cells of a name that stay before a table becomes two."""
READING_WIDTH = 124
"""Running text is not set wider than this, however wide the terminal is."""

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


@dataclass(frozen=True)
class Paint:
    """Our own styles when ``color``, which become ANSI codes at the door; otherwise the text as it is."""

    color: bool

    def __call__(self, text: str, *styles: str) -> str:
        if not self.color or not styles or not text:
            return text
        return f"{style(';'.join(_CODES[s] for s in styles))}{text}{style('0')}"

    def lines(self, some: Iterable[str], *styles: str) -> list[str]:
        """Each of them."""
        return [self(line, *styles) for line in some]


def cell_len(text: str) -> int:
    """The width of ``text`` as standard output will hold it."""
    return rich.cells.cell_len(written(text))


def fit(text: str, width: int) -> str:
    """``text`` in at most ``width`` cells, cut with an ellipsis."""
    if cell_len(text) <= width:
        return text
    return rich.cells.set_cell_size(written(text), max(width - cell_len(ELLIPSIS), 0)) + ELLIPSIS


def left(text: str, width: int) -> str:
    """Padded on the right."""
    return text + " " * max(0, width - cell_len(text))


def right(text: str, width: int) -> str:
    """Padded on the left."""
    return " " * max(0, width - cell_len(text)) + text


def wrap(text: str, width: int, indent: str = "", hang: str | None = None) -> list[str]:
    """Lines of at most ``width`` cells; a word longer than that stays whole, so that a path can be copied."""
    hang = indent if hang is None else hang
    lines: list[str] = []
    line, empty = indent, True
    for word in _GLUE.sub(_GLUED, clean(text.replace("\n", " "))).split(" "):
        if not word:
            continue
        if not empty and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line)
            line, empty = hang, True
        line += word if empty else f" {word}"
        empty = False
    return [x.replace(_GLUED, " ") for x in [*lines, line]] if not empty or lines else []


def bars(values: Iterable[float], low: float, high: float) -> str:
    """A bar for each value between ``low`` and ``high``; the lowest where these are equal."""
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((value - low) * scale)] for value in values)


def wrap_cell(text: str, width: int) -> list[str]:
    """A heading in lines of exactly at most ``width`` cells; words longer than that are cut."""
    return [fit(line, width) for line in wrap(text, width)] or [""]


def field(label: str, text: str, width: int, indent: int = 2, column: int = 0) -> list[str]:
    """``label  text`` with the text hanging under itself. ``column`` is the label's width (0: its own)."""
    head = " " * indent + left(label, column or cell_len(label)) + ("  " if column else " ")
    return wrap(text, width, head, " " * cell_len(head) if column else " " * (indent + 2))


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    width: int,
    numeric: frozenset[int] = frozenset(),
    elastic: frozenset[int] = frozenset(),
) -> list[str]:
    """Columns set two apart, ``numeric`` ones to the right; the widest ``elastic`` one gives way when it must.

    Not `rich.table`: it cuts every column alike, so also a run's name that is to be copied, counts the width of ``…``
    where ``...`` will be written, lets ESC through, and takes 45 times as long.
    """
    body = [[clean(c) for c in row] for row in rows]
    sizes = [max(cell_len(r[i]) for r in [list(head), *body]) for i in range(len(head))]
    room = width - 2 - 2 * (len(head) - 1)
    while sum(sizes) > room:
        widest = max(elastic or range(len(head)), key=lambda i: sizes[i])
        if sizes[widest] <= 6:
            break
        sizes[widest] -= 1

    def line(cells: Sequence[str]) -> str:
        made = [(right if i in numeric else left)(fit(c, sizes[i]), sizes[i]) for i, c in enumerate(cells)]
        return ("  " + "  ".join(made)).rstrip()

    return [line(head), *(line(r) for r in body)]


def tables(
    head: Sequence[str], body: Sequence[Sequence[str]], width: int, names: int, first: int, elastic: tuple[int, ...]
) -> list[str]:
    """A table without the columns that say nothing. Where the terminal is too narrow for the others, two: the columns
    from ``first`` on stand below, behind the ``names`` again, for the rows that have any of them.
    """
    told = [n for n in range(len(head)) if n < names or any(row[n] != NOTHING for row in body)]
    wide = [max(cell_len(clean(row[n])) for row in (head, *body)) for n in told]
    least = [min(size, NAME_LEAST) if n in elastic else size for n, size in zip(told, wide, strict=True)]
    parts = [told]
    if 2 + sum(least) + 2 * (len(told) - 1) > width:
        parts = [[n for n in told if n < first], [n for n in told if n < names or n >= first]]
    lines: list[str] = []
    for columns in parts:
        rows = [row for row in body if columns is parts[0] or any(row[n] != NOTHING for n in columns[names:])]
        if not rows or (lines and len(columns) == names):
            continue
        lines += [""] if lines else []
        lines += table(
            [head[n] for n in columns], [[row[n] for n in columns] for row in rows], width,
            numeric=frozenset(at for at, n in enumerate(columns) if n >= names and n not in elastic),
            elastic=frozenset(at for at, n in enumerate(columns) if n in elastic),
        )  # fmt: skip
    return lines
