"""Tables of text, beside those that rich would make of the same rows."""

from __future__ import annotations

import io
import textwrap

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from strata.report import text_layout

HEAD = ["run", "stack", "verdict", "cells"]
RUN, STACK, LONG = "2026-11-02-ab2", "host:/mnt/volume", "each request waits 5.06 ms for the wire"
ROWS = [[RUN, STACK, LONG, "7"], [RUN, STACK, "healthy", "12"]]


def ours(rows: list[list[str]], width: int) -> list[str]:
    return text_layout.table(HEAD, rows, width, numeric=frozenset({3}), elastic=frozenset({2}))


def theirs(rows: list[list[str]], width: int) -> list[str]:
    table = Table.grid(padding=(0, 2, 0, 0))
    for i in range(len(HEAD)):
        table.add_column(justify="right" if i == 3 else "left", no_wrap=True, overflow="ellipsis")
    for row in [HEAD, *rows]:
        table.add_row(*map(Text, row))
    console = Console(file=io.StringIO(), width=width - 2, color_system=None)
    console.print(table)
    return [f"  {line.rstrip()}" for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_where_there_is_room_both_are_the_same() -> None:
    rows = [[RUN, STACK, "waits for the wire", "7"], [RUN, STACK, "healthy", "12345"]]
    assert ours(rows, 100) == theirs(rows, 100)


def test_where_there_is_none_the_elastic_column_gives_way_and_names_stay_whole() -> None:
    assert all(RUN in line and STACK in line for line in ours(ROWS, 60)[1:])
    assert ours(ROWS, 60)[1].endswith("each request wai…      7")
    assert not any(RUN in line for line in theirs(ROWS, 60)), "rich cuts all columns alike"


def test_nothing_in_a_cell_is_obeyed() -> None:
    row = [RUN, STACK, "a\x1b[31mb", "1"]
    assert "\x1b" not in "".join(ours([row], 90))
    assert "\x1b" in "".join(theirs([row], 90))


def test_columns_stay_under_each_other_in_the_words_of_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream of ASCII gets ``...`` for ``…`` and ``->`` for ``→``: counted here, unknown to rich."""
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strata-plain"))
    rows = [[RUN, "a → b", LONG, "7"], [RUN, "a b", "healthy", "12"]]
    written = [line.encode("ascii", "strata-plain").decode() for line in ours(rows, 60)]
    assert len({len(line) for line in written[1:]}) == 1
    assert all(len(line) <= 60 for line in written)
    loose = [line.encode("ascii", "strata-plain").decode() for line in theirs(rows, 60)]
    assert len({len(line) for line in loose[1:]}) == 2


def test_running_text_keeps_a_number_with_its_unit_a_path_whole_and_counts_cells() -> None:
    """The standard library's `textwrap` counts characters, rich breaks a word that is too long."""
    path = "/mnt/" + "volume/" * 6
    assert text_layout.wrap(f"at {path} it takes 5.06 ms", 30) == ["at", path, "it takes 5.06 ms"]
    assert text_layout.wrap("it takes about 5.06 ms", 19) == ["it takes about", "5.06 ms"]
    assert textwrap.wrap("it takes about 5.06 ms", 19) == ["it takes about 5.06", "ms"]
    assert text_layout.wrap("漢字 漢字 漢字", 10) == ["漢字 漢字", "漢字"]
    assert textwrap.wrap("漢字 漢字 漢字", 10) == ["漢字 漢字 漢字"]
    assert len(Text(path).wrap(Console(width=30), 30)) == 2


def test_what_is_too_wide_for_one_table_stands_in_two_and_empty_columns_in_none() -> None:
    head = ("name", "a", "empty", "b", "c")
    none = text_layout.NOTHING
    body = [("one" * 8, "1" * 20, none, "2" * 20, none), ("two", "3", none, none, none)]
    wide = text_layout.tables(head, body, 80, names=1, first=3, elastic=(0,))
    assert len(wide) == 3 and wide[0].split() == ["name", "a", "b"]
    narrow = text_layout.tables(head, body, 50, names=1, first=3, elastic=(0,))
    assert [line.split()[:2] for line in narrow if line] == [
        ["name", "a"], ["one" * 8, "1" * 20], ["two", "3"], ["name", "b"], ["one" * 8, "2" * 20],
    ]  # fmt: skip
    assert all(len(line) <= 50 for line in narrow)
