"""Jetstress' report: databases and logs as sums of their instances, ms, and its own verdict."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from results_of import DATA, read_bytes, read_file

from strata.formats.results import Misread

TEXT = (DATA / "jetstress.html").read_text()


class Cells(HTMLParser):
    """Another reader: the cells of every row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.within = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")

        self.within = tag == "td"

    def handle_endtag(self, tag: str) -> None:
        self.within = False

    def handle_data(self, data: str) -> None:
        if self.within:
            self.rows[-1][-1] += data.strip()


def test_databases_and_logs_are_the_sums_of_what_another_reader_finds() -> None:
    reader = Cells()
    reader.feed(TEXT)
    begin = next(n for n, row in enumerate(reader.rows) if len(row) == 13)
    heads, *rows = reader.rows[begin : begin + 3]
    each = [dict(zip(heads, row, strict=True)) for row in rows]
    found = read_file("jetstress.html")
    databases, logs = found.cells
    assert (databases.name, logs.name, len(databases.parts)) == ("databases", "logs", 2)
    assert set(logs.sides) == {"write"}, "no log was read"
    for cell, of in ((databases, "Database"), (logs, "Log")):
        for side, measured in cell.sides.items():
            words = f"I/O {of} {'Reads' if side == 'read' else 'Writes'}"
            iops = [float(row[f"{words}/sec"]) for row in each]
            mean = [float(row[f"{words} Average Latency (msec)"]) for row in each]
            size = [float(row[f"{words} Average Bytes"]) for row in each]
            assert measured.base("iops") == pytest.approx(sum(iops))
            weighted = sum(n * ms for n, ms in zip(iops, mean, strict=True)) / sum(iops)
            assert measured.base("time.mean") == pytest.approx(weighted * 1e6)
            assert measured.base("rate") == pytest.approx(sum(n * b for n, b in zip(iops, size, strict=True)))
    assert databases.total is not None
    assert databases.total.base("iops") == pytest.approx(836.814), "what it calls achieved"
    assert databases.seconds == 7196
    assert databases.cpu["busy"].base == pytest.approx(0.03174)


def test_its_verdict_and_what_is_left_out_are_said() -> None:
    found = read_file("jetstress.html")
    assert (found.tool, found.version, found.host) == ("jetstress", "14.01.0225.017", "NODE-1")
    assert {cell.words["verdict"] for cell in found.cells} == {"Pass"}
    assert any(note.endswith("verdict: Pass") for note in found.notes)
    assert [said.partition(":")[0] for said in found.left_out] == [
        "Background Database Maintenance I/O Performance",
        "Log Replication I/O Performance",
        "Total I/O Performance",
    ]
    assert not any("add up" in note for note in found.notes)
    failed = read_bytes(TEXT.replace("Pass", "Fail").replace("836.814", "900").encode())
    assert failed.cells[0].words["verdict"] == "Fail"
    assert any("add up to 836.814" in note for note in failed.notes)


def test_a_workload_is_not_guessed() -> None:
    assert all(not cell.asked and "not stated" in cell.incomplete[0] for cell in read_file("jetstress.html").cells)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ('<td class="grid_cell">2.104</td>\n', "", "12 values for 13 columns"),
        (">2.104<", ">two<", "which is not a number"),
        (">2.104<", ">N/A<", None),
        ("<td", "<TD", None),
    ],
)
def test_what_is_broken_says_where(before: str, after: str, why: str | None) -> None:
    content = TEXT.replace(before, after).encode()
    if why is None:
        assert read_bytes(content).cells
        return
    with pytest.raises(Misread, match=why) as e:
        read_bytes(content)
    assert e.value.line


def test_a_page_that_closes_nothing_takes_no_time() -> None:
    for piece in ("<td>", "<", "&#", "<tr", "<!--", '<a href="'):
        content = (TEXT[:1500] + piece * 300_000).encode()
        with pytest.raises(Misread):
            read_bytes(content)
