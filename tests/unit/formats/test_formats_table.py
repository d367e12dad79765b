"""Tables of others are read with the units and the rounding they were printed in, or refused with every problem."""

from __future__ import annotations

import pytest

from strata.errors import UsageError
from strata.formats.table import read_table
from strata.model.figures import Dimension, Figure, Role, Rounding, readings


def one(heading: str, cell: str) -> Figure | None:
    table = read_table(f"name,iops,{heading}\nr,1,{cell}\n", "t")
    others = [f for k, f in table.rows[0].figures.items() if k != "iops"]
    return others[0] if others else None


@pytest.mark.parametrize(
    ("heading", "cell", "base", "step", "rounding"),
    [
        ("time.p99 [us]", "1.50", 1500.0, 0.01, Rounding.UNKNOWN),
        ('"rate [GiB/s, exact]"', "1", 2.0**30, 0.0, Rounding.EXACT),
        ("rate [MB/s]", "138", 138e6, 1.0, Rounding.UNKNOWN),
        ("Throughput [MB/s]", "1", 1e6, 1.0, Rounding.UNKNOWN),
        ("Speed [MB/s]", "1", None, 0, Rounding.UNKNOWN),
        ("CPU (cores)", "1", None, 0, Rounding.UNKNOWN),
        ("BW (MiB/s)", "1", 2.0**20, 1.0, Rounding.UNKNOWN),
        ("Lat avg (us)", "1.5", 1500.0, 0.1, Rounding.UNKNOWN),
        ("p99_ms", "2", 2e6, 1.0, Rounding.UNKNOWN),
        ("99.9th (us)", "2", 2e3, 1.0, Rounding.UNKNOWN),
        ("MiB/s", "1.5", 1.5 * 2**20, 0.1, Rounding.UNKNOWN),
        ("block_bytes", "8192", 8192.0, 0.0, Rounding.EXACT),
        ("bs", "8K", 8192.0, 0.0, Rounding.EXACT),
        ("bs", "1 MiB", 2.0**20, 0.0, Rounding.EXACT),
        ("ios", '"1,147,971"', 1147971.0, 1.0, Rounding.UNKNOWN),
        ("before", "~330000", 330000.0, 10000.0, Rounding.ABOUT),
        ("before", "~0.0096", 0.0096, 0.0001, Rounding.ABOUT),
        ("busy [%]", "36.65", 0.3665, 0.01, Rounding.UNKNOWN),
        ("percentile", "4-nines", 99.99, 0.0, Rounding.EXACT),
        ("percentile", "25th", 25.0, 0.0, Rounding.EXACT),
        ("link [Gb/s]", "54", 6.75e9, 1.0, Rounding.UNKNOWN),
        ("before", "1.5e3", 1500.0, 100.0, Rounding.UNKNOWN),
    ],
)
def test_a_cell_is_a_number_with_unit_step_and_rounding(
    heading: str, cell: str, base: float | None, step: float, rounding: Rounding
) -> None:
    figure = one(heading, cell)
    if base is None:
        assert figure is None
        return
    assert figure is not None
    assert (figure.base, figure.step, figure.rounding) == (pytest.approx(base), pytest.approx(step), rounding)


@pytest.mark.parametrize("cell", ["", "N/A", "-", "null"])
def test_what_is_absent_is_no_figure_and_no_label(cell: str) -> None:
    row = read_table(f"name,iops,time.p99 [us]\nr,1,{cell}\n", "t").rows[0]
    assert (list(row.figures), row.words) == (["iops"], {})


@pytest.mark.parametrize("cell", [">1000", "almost 2x", "N-2"])
def test_what_is_no_number_is_a_label(cell: str) -> None:
    row = read_table(f"name,iops,before\nr,1,{cell}\n", "t").rows[0]
    assert row.words == {"before": cell}


def test_tabs_marks_of_the_editor_and_facts() -> None:
    table = read_table("\ufeff# clock [GHz] = 2.7\n# tool = x\n\niops\tMB/s\n1000\t4\n\n", "t")
    assert table.figures["clock"].base == pytest.approx(2.7e9)
    assert table.words == {"tool": "x"}
    assert table.rows[0].figures["rate"].unit == "MB/s"


def test_columns_are_mapped_by_the_caller() -> None:
    text = "Test,Durchsatz,IOPS\na,100,25\n"
    mapped = read_table(text, "t", {"durchsatz": "rate [MiB/s, down]", "IOPS": ""}).rows[0]
    assert mapped.figures["rate"].rounding is Rounding.DOWN
    assert mapped.words == {"Test": "a", "IOPS": "25"}


@pytest.mark.parametrize(
    ("columns", "pattern"),
    [
        ("pattern,op\nseq,read", "sequential read"),
        ("pattern\nrand write", "random write"),
        ("pattern\nSequential Write", "sequential write"),
        ("rw\nrandread", "random read"),
        ("rw\nwrite", "sequential write"),
    ],
)
def test_patterns_have_one_spelling(columns: str, pattern: str) -> None:
    head, cells = columns.split("\n")
    assert read_table(f"{head},iops\n{cells},1\n", "t").rows[0].words["pattern"] == pattern


def test_rows_are_called_by_what_tells_them_apart() -> None:
    table = read_table("source,layer,op,iops\ns,disk,read,1\ns,disk,write,2\ns,disk,write,3\n", "t")
    assert [r.name for r in table.rows] == ["read", "write", "write (2)"]
    assert [r.name for r in read_table("iops\n1\n2\n", "t").rows] == ["line 2", "line 3"]


def test_roles() -> None:
    table = read_table("role,iops\nplanned,1\nsaid,2\n,3\n", "t")
    assert [r.role for r in table.rows] == [Role.PLANNED, Role.SAID, Role.MEASURED]


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(UsageError) as e:
        read_table("iops,time.p99 [parsec],role\n1,2,guess\n1,2,3,4\n", "t", {"nope": "iops", "iops": "speed"})
    said = " | ".join(e.value.problems)
    for word in ("'nope'", "is not a known kind", "'parsec' is not a unit", "'guess' is not a role", "4 cells for 3"):
        assert word in said


@pytest.mark.parametrize("text", ["", "# only = facts\n", "name,colour\na,red\n"])
def test_a_table_without_figures_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_table(text, "t")


def test_ambiguous_units_have_both_meanings_the_literal_one_first() -> None:
    assert readings(Dimension.RATE, "MB/s") == (("MB/s", 1e6), ("MiB/s", 2.0**20))
    assert readings(Dimension.RATE, "GBytes/sec")[0] == ("GB/s", 1e9)
    assert readings(Dimension.RATE, "MiB/s") == (("MiB/s", 2.0**20),)
    assert readings(Dimension.BYTES, "8") == ()
    assert readings(Dimension.RATE, "MB") == ()
    assert readings(Dimension.TIME, "us") == (("us", 1e3),)


def test_bounds_hold_what_the_rounding_allows() -> None:
    figure = Figure(dimension=Dimension.RATE, value=138, unit="MB/s", step=1, rounding=Rounding.UNKNOWN)
    assert figure.bounds() == (137.5e6, 139e6)
    assert figure.bounds(2.0**20, Rounding.DOWN) == (138 * 2.0**20, 139 * 2.0**20)
    assert figure.bounds(1, Rounding.NEAREST) == (137.5, 138.5)
    known = figure.model_copy(update={"rounding": Rounding.NEAREST})
    assert known.bounds(1, Rounding.DOWN) == (137.5, 138.5)
