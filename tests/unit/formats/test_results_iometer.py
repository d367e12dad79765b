"""Iometer's CSV: the sums alone, names with commas, and the specification that a result is of."""

from __future__ import annotations

import pytest
from results_of import DATA, read_bytes, read_file

from strata.formats.results import Misread

TEXT = (DATA / "iometer.csv").read_text()


def test_only_the_sums_are_read_with_the_settings_of_their_specification() -> None:
    reads, mixed = read_file("iometer.csv").cells
    assert (reads.name, mixed.name) == ("4 KiB; 100% Read; 100% random", "8 KiB, 70% Read")
    assert reads.asked == {"rw": "randread", "bs": 4096, "direct": True, "threads": 2}
    assert (mixed.asked["rw"], mixed.asked["rwmixread"], mixed.asked["bs"]) == ("randrw", 70, 8192)
    for cell, ios in ((reads, {"read": 600000}), (mixed, {"read": 420000, "write": 180000})):
        assert cell.seconds == pytest.approx(60)
        assert {side: m.base("ios") for side, m in cell.sides.items()} == ios
        for m in cell.sides.values():
            assert m.base("bytes") == (m.base("ios") or 0) * cell.asked["bs"]
            assert m.base("rate") == pytest.approx((m.base("bytes") or 0) / 60, rel=1e-6)
            assert (m.base("time.mean"), m.errors) == (pytest.approx(0.8e6), 0)
    assert "iodepth" not in reads.asked, "it stands for each disk"


def test_what_is_not_known_is_absent() -> None:
    several = TEXT.replace("4096,100,100,100,0,1,4096,0", "4096,50,100,100,0,1,0,0\n8192,50,100,100,0,1,0,0")
    cell = read_bytes(several.encode()).cells[0]
    assert "bs" not in cell.asked
    assert "has several lines" in cell.incomplete[0]
    partly = read_bytes(TEXT.replace("8192,100,70,100", "8192,100,70,50").encode()).cells[1]
    assert "rw" not in partly.asked
    old = TEXT.replace("Read MiBps (Binary)", "Read MBps")
    assert read_bytes(old.encode()).cells[0].sides["read"].base("rate") == pytest.approx(39.0625 * 2**20)
    with pytest.raises(Misread, match="37 values for 36 columns"):
        read_bytes(TEXT.replace("'Access specification name", "'nothing").encode())
