"""vdbench's flat file against its summary of the same runs, and against the rows it printed."""

from __future__ import annotations

import pytest
from results_of import DATA, read_bytes, read_file

from strata.formats.results import Misread

FLAT = (DATA / "vdbench-flatfile.html").read_text()
SUMMARY = (DATA / "vdbench-summary.html").read_text()


def averages() -> list[dict[str, str]]:
    rows = [line.split() for line in FLAT.splitlines() if not line.startswith("*")]
    heads = next(words for words in rows if words[:1] == ["tod"])
    made = [dict(zip(heads, words, strict=True)) for words in rows if len(words) == len(heads)]
    return [row for row in made if row["Interval"].startswith("avg") and row["rate"] != "0"]


def test_cells_are_the_printed_averages() -> None:
    found = read_file("vdbench-flatfile.html")
    for cell, row in zip(found.cells, averages(), strict=True):
        assert cell.total is not None
        assert cell.total.base("iops") == float(row["rate"])
        assert cell.total.base("rate") == pytest.approx(float(row["MB/sec"]) * 2**20)
        assert cell.total.base("time.mean") == pytest.approx(float(row["resp"]) * 1e6)
        for side in ("read", "write"):
            assert cell.sides[side].base("time.mean") == pytest.approx(float(row[f"{side}_resp"]) * 1e6)
        assert sum(m.base("iops") or 0 for m in cell.sides.values()) == pytest.approx(float(row["rate"]))
        first, last = map(int, row["Interval"].removeprefix("avg_").split("-"))
        assert (cell.seconds, len(cell.points)) == (last - first + 1, last - first + 1)
        ends = [point.end_ns // 10**9 for point in cell.points]
        assert ends == list(range(1, len(ends) + 1))
    assert [c.asked["threads"] for c in found.cells] == [1, 4, 8]
    assert [c.asked.get("limit_iops") for c in found.cells] == [None, None, 200], "9999988 is no limit"
    assert found.left_out == ("run SD_format: its average covers no samples",)


def test_the_summary_says_the_same_with_fewer_places() -> None:
    pairs = zip(read_file("vdbench-flatfile.html").cells, read_file("vdbench-summary.html").cells, strict=True)
    for flat, short in pairs:
        assert flat.seconds == short.seconds
        assert flat.total is not None and short.total is not None
        for side, exact in {**flat.sides, "total": flat.total}.items():
            other = short.total if side == "total" else short.sides[side]
            for key in set(exact.figures) & set(other.figures):
                low, high = other.figures[key].bounds()
                assert low * (1 - 1e-9) <= (exact.base(key) or 0) <= high * (1 + 1e-9), (side, key)


def test_file_systems_have_their_own_columns() -> None:
    [cell] = read_file("vdbench-flatfile-fs.html").cells
    read = cell.sides["read"]
    assert (read.base("iops"), read.base("rate")) == (329930.5, pytest.approx(1288.8027 * 2**20))
    assert "threads" not in cell.asked, "n/a"


def test_what_was_not_finished_and_what_is_not_a_number() -> None:
    at = FLAT.rindex("00:18:58")
    found = read_bytes(FLAT[:at].encode() + FLAT[at:].splitlines()[0].encode())
    assert len(found.cells) == 2
    assert "run rd2: it has no average, and was not finished" in found.left_out
    nothing = FLAT.replace("36322 141.8828", "36322 n/a")
    cell = read_bytes(nothing.encode()).cells[0]
    assert cell.total is not None
    assert "rate" not in cell.total.figures
    mixed = read_bytes(FLAT.replace("70 0 0 100 0.0625", "70 50 0 60 0.0625").encode()).cells[0]
    assert "rw" not in mixed.asked
    assert any("seekpct=60" in why for why in mixed.incomplete)
    assert any("rhpct=50" in why for why in mixed.incomplete)
    with pytest.raises(Misread, match="values for"):
        read_bytes(FLAT.replace("35101 137.1133", "35101").encode())


def test_markup_of_a_report_reaches_nothing() -> None:
    evil = SUMMARY.replace("RD=rd1", "RD=<script>x</script>rd1")
    assert "<" not in "".join(c.name for c in read_bytes(evil.encode()).cells)
