"""Plain tables are imported: their headings, what a row asked for, and what the user says of columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from results_of import read_bytes, source_of

from strata.app.imported_run import ImportedAs, with_workloads
from strata.app.imports import import_paths
from strata.formats.results import Misread, Source, read_result, recognised
from strata.formats.table import read_table

DATA = Path(__file__).parents[2] / "data"


def test_each_row_is_a_cell_of_its_layer() -> None:
    found = with_workloads(read_bytes((DATA / "imports" / "table.csv").read_bytes()), {"direct": True})
    assert [(c.words["target"], c.line) for c in found.cells] == [("disk", 2), ("share", 3), ("share", 4)]
    assert [c.workload.key for c in found.cells if c.workload] == [
        "randread-4KiB-qd8", "randread-4KiB-qd8", "write-64KiB-qd8"
    ]  # fmt: skip
    assert [next(iter(c.sides)) for c in found.cells] == ["read", "read", "write"]
    assert found.cells[0].sides["read"].base("time.mean") == 1e6 and found.cells[0].seconds == 30


def test_every_figure_that_is_checked_is_imported() -> None:
    """The same columns as `strata check` reads, of the ladder in the laws' data."""
    text = (DATA / "laws" / "ladder.csv").read_text()
    rows = [row for row in read_table(text, "t").rows if "iops" in row.figures]
    cells = read_bytes(text.encode()).cells
    assert len(cells) == len(rows)
    for row, cell in zip(rows, cells, strict=True):
        there = {
            **(cell.total.figures if cell.total else {}),
            **{k: f for s in cell.sides.values() for k, f in s.figures.items()},
        }
        assert there["iops"].base == row.figures["iops"].base


def test_directions_are_sides() -> None:
    (cell,) = read_bytes(b"pattern,bs,Read IOPS,Write IOPS,Read BW (MB/s)\nrandom 70/30,8K,700,300,5.7\n").cells
    assert cell.asked["rwmixread"] == 70 and {k: m.base("iops") for k, m in cell.sides.items()} == {
        "read": 700,
        "write": 300,
    }
    assert cell.sides["read"].base("rate") == pytest.approx(5.7e6)


def test_columns_that_nobody_knows_are_named_by_the_user(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Anfragen,Dauer\n1000,5\n2000,4\n")
    refused = import_paths([str(tmp_path / "t.csv")], None, dry_run=True)
    assert refused.files[0].problem is not None
    names = ImportedAs(columns={"Anfragen": "iops", "Dauer": "time.mean [ms]"})
    (found,) = import_paths([str(tmp_path / "t.csv")], None, names, dry_run=True).files
    assert found.imported is not None and [c.total.base("iops") for c in found.imported.cells if c.total] == [
        1000,
        2000,
    ]
    wrong = ImportedAs(columns={"Fragen": "iops"})
    (told,) = import_paths([str(tmp_path / "t.csv")], None, wrong, dry_run=True).files
    assert told.problem is not None and "column" in told.problem


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n", "iops\n", "just words, and iops\n", "x\ty\n1\t2\n", "iops,bs\nlow,4k\n"]
)
def test_what_has_no_figures_is_no_table(text: str) -> None:
    with pytest.raises(Misread):
        recognised(source_of(text.encode()))


def test_more_rows_than_anyone_measures_are_refused() -> None:
    text = ("iops,bs\n" + "1000,4k\n" * 10_001).encode()
    with pytest.raises(Misread):
        read_result(Source("x", len(text), lambda: iter((text,))))
