"""Shares as clients count them: mountstats of NFS, cifsiostat of SMB."""

from __future__ import annotations

import time

import pytest
from results_of import DATA, read_bytes, read_file

from strata.formats.results import Misread

STATS = (DATA / "mountstats.txt").read_text()
CIFS = (DATA / "cifsiostat.txt").read_text()


def test_figures_of_a_mount_are_since_it_was_mounted() -> None:
    four, three = read_file("mountstats.txt").cells
    read, write = four.sides["read"], four.sides["write"]
    assert (read.base("ios"), read.base("bytes"), read.errors, four.seconds) == (50, 410000, 2, 12)
    assert read.base("iops") == 50 / 12
    assert read.base("time.mean") == pytest.approx(710 / 50 * 1e6)
    assert read.figures["time.mean"].bounds() == pytest.approx((709 / 50 * 1e6, 711 / 50 * 1e6))
    assert (write.base("ios"), write.base("bytes"), write.errors) == (20, 83000, 0)
    assert (three.sides["read"].base("ios"), three.sides["read"].errors) == (8, None), "1.0 counts no errors"
    assert "write" not in three.sides


def test_of_several_snapshots_it_is_what_was_done_between_them() -> None:
    later = STATS.replace("age:\t12", "age:\t22").replace(
        "READ: 50 51 1 8000 410000 5 700 710 2", "READ: 150 151 1 9 810000 5 1700 1710 3"
    )
    found = read_bytes((STATS + later.replace(" 8000 ", " 9000 ").replace(" 1 9 ", " 1 9000 ")).encode())
    [cell] = found.cells
    read = cell.sides["read"]
    assert (read.base("ios"), read.base("bytes"), read.errors, cell.seconds) == (100, 400000, 1, 10)
    assert read.base("iops") == 10
    assert set(cell.sides) == {"read"}, "nothing was written between them"
    with pytest.raises(Misread, match=r"remounted|goes back"):
        read_bytes((later + STATS).encode())


def test_shares_of_smb_are_counters_without_the_report_since_boot() -> None:
    found = read_file("cifsiostat.txt")
    series = {s.metric: s for s in found.counters}
    assert set(found.counters[0].labels.values()) == {"cifsiostat", r"\\server\plain share"}
    assert series["cifsiostat rB/s"].values == (1048576.0, 2097152.0)
    assert (series["cifsiostat rB/s"].unit, series["cifsiostat rops/s"].unit) == ("B/s", "I/O/s")
    first, second = series["cifsiostat wB/s"].t_ns
    assert second - first == 10**9
    with pytest.raises(Misread, match="since boot"):
        read_bytes(CIFS[: CIFS.index("11/24/26 00:41:01")].encode())


def test_a_long_number_takes_no_time() -> None:
    begun = time.monotonic()
    long = STATS.replace("READ: 50 51 1", f"READ: {'9' * 400} 1")
    assert "read" not in read_bytes(long.encode()).cells[0].sides
    assert time.monotonic() - begun < 1
