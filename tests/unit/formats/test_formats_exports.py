"""Every form of a table gives back what the table holds, whatever texts and numbers stand in it."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from strata.errors import UsageError
from strata.formats.exports import form_of, of_compared, of_gate, of_history, of_matrix
from strata.formats.exports.csv import plain
from strata.formats.exports.sheet import KINDS, Field, Sheet, columns, heads
from strata.formats.exports.tables import RUNS, TABLES
from strata.text import controls

COLUMNS = columns("name text\nios count = how many\nmean_ns = time.mean [ns]\nkink truth")
TEXT = st.text(st.characters(), max_size=12) | st.sampled_from(["=1+1", "@SUM(A1)", 'a"b', "a,b\nc", "\x1b[2J", "|"])
ROWS = st.lists(
    st.tuples(*(st.none() | of for of in (TEXT, st.integers(-(2**63), 2**63 - 1), st.floats(), st.booleans())))
)


def sheet_of(rows: list[tuple[Field, ...]]) -> Sheet:
    made = Sheet.of(COLUMNS, rows)
    assert all(math.isfinite(field) for row in made.rows for field in row if isinstance(field, float))
    return made


@given(ROWS)
def test_comma_separated_values_are_read_as_they_were_and_no_text_is_a_formula(rows: list[tuple[Field, ...]]) -> None:
    sheet = sheet_of(rows)
    text = str(form_of("csv").write(sheet))
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert controls.lines(text) == text and text.count("\n") == len(rows) + 1
    assert read[0] == [column.heading for column in COLUMNS]
    assert read[1:] == [["" if field is None else str(plain(field)) for field in row] for row in sheet.rows]
    assert not [text for text, *_ in read[1:] if text[:1] in set("=+-@\t\r")]


@given(ROWS)
def test_json_lines_and_parquet_have_the_values_and_no_key_for_what_is_missing(rows: list[tuple[Field, ...]]) -> None:
    sheet = sheet_of(rows)
    keys = [column.key for column in COLUMNS]
    meant = [{k: v for k, v in zip(keys, row, strict=True) if v is not None} for row in sheet.rows]
    text = str(form_of("jsonl").write(sheet))
    assert [json.loads(line) for line in text.split("\n")[:-1]] == meant
    # What a terminal would obey is shown on its way into a file, and is still the same JSON.
    assert [json.loads(line) for line in controls.lines(text).split("\n")[:-1]] == meant
    made = form_of("parquet").write(sheet)
    assert isinstance(made, bytes)
    read = parquet.read_table(io.BytesIO(made)).to_pylist()
    said = [{k: controls.halves(v) if isinstance(v, str) else v for k, v in one.items()} for one in meant]
    assert [{k: v for k, v in row.items() if v is not None} for row in read] == said


def test_a_count_that_parquet_has_no_room_for_is_refused_by_its_column() -> None:
    with pytest.raises(UsageError, match="column ios"):
        form_of("parquet").write(sheet_of([("a", 2**63, None, None)]))


@given(ROWS)
def test_no_text_leaves_its_cell_of_a_markdown_table(rows: list[tuple[Field, ...]]) -> None:
    lines = str(form_of("markdown").write(sheet_of(rows))).split("\n")[:-1]
    assert len(lines) == len(rows) + 2
    assert len({len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines}) == 1


EVERY = {name: table.columns for name, table in TABLES.items()}
EVERY |= {
    "of_compared": heads(of_compared.COLUMNS), "of_gate": heads(of_gate.COLUMNS),
    "of_history": heads(of_history.COLUMNS), "of_matrix": heads(of_matrix.COLUMNS),
}  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
def test_columns_have_one_key_one_heading_and_a_kind_and_say_which_cell_they_are_of(name: str) -> None:
    keys, headings = [c.key for c in EVERY[name]], [c.heading for c in EVERY[name]]
    assert len(set(keys)) == len(keys) and len(set(headings)) == len(headings)
    assert {c.kind for c in EVERY[name]} <= set(KINDS)
    assert {"layer", "workload"} <= set(keys) or name == RUNS
