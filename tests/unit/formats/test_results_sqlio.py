"""SQLIO's text against an independent reading."""

from __future__ import annotations

import re

import pytest
from results_of import DATA, read_bytes, read_file

from strata.formats.results import Misread

TEXT = (DATA / "sqlio.txt").read_text()


def test_figures_and_settings_are_the_printed_ones() -> None:
    found = read_file("sqlio.txt")
    [cell] = found.cells
    read = cell.sides["read"]
    assert read.base("iops") == float(re.findall(r"IOs/sec: +(\S+)", TEXT)[0])
    assert read.base("rate") == pytest.approx(float(re.findall(r"MBs/sec: +(\S+)", TEXT)[0]) * 2**20)
    assert read.figures["time.mean"].bounds() == (1e6, 2e6), "whole milliseconds, cut off"
    assert read.figures["time.min"].bounds() == (0, 1e6)
    assert cell.asked == {"rw": "randread", "bs": 8192, "iodepth": 8, "threads": 2, "direct": True}
    assert (cell.seconds, found.version, cell.words["target"]) == (60, "1.5.SG", "E:testfile.dat")
    assert TEXT.splitlines()[cell.line - 1].startswith("2 threads reading")


def test_several_tests_and_one_that_was_not_finished() -> None:
    write = TEXT.replace("reading", "writing").replace(
        "use hardware disk cache (but not file cache)", "not use file nor disk caches (as is SQL Server)"
    )
    cut = TEXT[: TEXT.index("CUMULATIVE")]
    cells = read_bytes((TEXT + write + cut).encode()).cells
    assert [c.asked["rw"] for c in cells] == ["randread", "randwrite"]
    assert (cells[1].asked["direct"], cells[1].asked["sync"]) == (True, "dsync")


def test_a_figure_that_is_none_is_named() -> None:
    with pytest.raises(Misread) as e:
        read_bytes(TEXT.replace("11123.20", "fast").encode())
    assert e.value.line == 12
