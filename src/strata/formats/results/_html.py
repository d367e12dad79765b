"""Rows of tables in a page: texts between tags, nothing else of it is obeyed.

Each tag is looked at once, whatever stands in it: a page that never closes what it opens costs no more than another.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from strata.formats.results.source import Misread

CELL_MOST = 4096
"""Characters of a cell; the name of a character in it is read only so long as it can be one."""
CELLS_MOST = 500_000
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]{0,15})\b[^<>]{0,4096}>")
_NAMED = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{1,31}\d{0,2});")


def rows_of(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """(line, cells) of each row. What stands outside of a row is a row of one cell by itself: a heading."""
    line, at, count = 1, 0, 0
    begun, row, words = 1, [], []
    inside = False
    for tag in _TAG.finditer(text):
        words.append(text[at : tag.start()][:CELL_MOST])
        line += text.count("\n", at, tag.start())
        at = tag.start()
        name = tag[2].lower()
        if name in ("td", "th") and inside:
            if tag[1]:
                row.append(_plain(words))
                count += 1
            words = []
        elif name == "tr":
            if inside and row:
                yield begun, tuple(row)
            inside, begun, row, words = not tag[1], line, [], []
        elif not inside and name not in ("b", "i", "span", "font", "a"):
            if said := _plain(words):
                count += 1
                yield line, (said,)
            words = []
        if count > CELLS_MOST:
            raise Misread(f"its tables have more than {CELLS_MOST} cells", line)
        line += text.count("\n", at, tag.end())
        at = tag.end()


def _plain(words: list[str]) -> str:
    """As one line of text."""
    whole = "".join(words)[:CELL_MOST]
    return " ".join(_NAMED.sub(lambda one: html.unescape(one[0]), whole).split())
