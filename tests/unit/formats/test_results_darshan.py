"""Darshan's logs: what dd was told to do, and what Darshan counted of it."""

from __future__ import annotations

import pytest
from results_of import DATA, read_bytes, read_file

from strata.formats.results import Misread

TEXT = (DATA / "darshan.txt").read_text()


def said(counter: str, path: str) -> str:
    [value] = [
        w[4] for line in TEXT.splitlines() if len(w := line.split("\t")) == 8 and w[3] == counter and w[5] == path
    ]
    return value


def test_counts_are_those_that_dd_was_told_and_times_those_of_the_calls() -> None:
    found = read_file("darshan.txt")
    read, write = found.cells
    a = read.sides["read"]
    assert (a.base("ios"), a.base("bytes"), read.asked["bs"]) == (32, 32 << 16, 65536)
    assert a.base("time.mean") == pytest.approx(float(said("POSIX_F_READ_TIME", "/tmp/fb-d/a")) / 32 * 1e9)
    assert a.base("time.max") == pytest.approx(float(said("POSIX_F_MAX_READ_TIME", "/tmp/fb-d/a")) * 1e9)
    b = write.sides["write"]
    assert (b.base("ios"), b.base("bytes")) == (32, 32 << 16)
    assert "time.mean" not in b.figures, "its time is also that of fsync"
    assert {"iops", "rate"}.isdisjoint({*a.figures, *b.figures})
    assert found.command == "dd if=a of=b bs=64k count=32 conv=fsync"
    unsynced = TEXT.replace("POSIX_FSYNCS\t1", "POSIX_FSYNCS\t0")
    assert "time.mean" in read_bytes(unsynced.encode()).cells[1].sides["write"].figures


def test_what_was_not_counted_is_absent_and_damage_is_named() -> None:
    gone = TEXT.replace("POSIX_BYTES_READ\t2097152", "POSIX_BYTES_READ\t-1")
    assert "bytes" not in read_bytes(gone.encode()).cells[0].sides["read"].figures
    mixed = TEXT.replace("POSIX_ACCESS1_COUNT\t32", "POSIX_ACCESS1_COUNT\t31")
    assert all("bs" not in cell.asked for cell in read_bytes(mixed.encode()).cells)
    at = TEXT.index("\tPOSIX_READS\t")
    with pytest.raises(Misread, match="7 values for 8 columns") as e:
        read_bytes((TEXT[:at] + TEXT[at + 1 :]).encode())
    assert e.value.line == TEXT.count("\n", 0, at) + 1
