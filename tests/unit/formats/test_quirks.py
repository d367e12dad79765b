"""What tools print differently from what their formats promise, each as it was seen."""

from __future__ import annotations

import json
import re
import zlib

import pytest
from results_of import DATA, read_bytes

from strata.formats.results import Misread


def test_esxtop_says_its_zone_as_perfmon_does() -> None:
    head = r'"(PDH-CSV 4.0) (UTC)(0)","\\esx1\Physical Disk Adapter(vmhba0)\Commands/sec"'
    found = read_bytes(f'{head}\n"11/23/2026 19:24:41","10.5"\n"11/23/2026 19:24:46","11.5"\n'.encode())
    assert (found.host, found.counters[0].values, "its clock is UTC" in found.notes) == ("esx1", (10.5, 11.5), True)


def test_a_restart_and_a_comment_between_the_rows_of_sadf_are_no_disks() -> None:
    plain = (DATA / "sadf-disk.csv").read_bytes()
    first, *rows = plain.splitlines(keepends=True)
    said = b"vm;-1;2026-11-23 13:53:45 UTC;LINUX-RESTART\t(2 CPU)\nvm;-1;2026-11-23 13:53:45 UTC;COM a remark\n"
    before, after = read_bytes(plain), read_bytes(first + rows[0] + said + b"".join(rows[1:]))
    assert [c.labels for c in after.counters] == [c.labels for c in before.counters]
    assert [c.values[-1] for c in after.counters] == [c.values[-1] for c in before.counters]


def test_a_log_that_fio_compressed_says_how_to_unpack_it() -> None:
    with pytest.raises(Misread, match=r"fio --inflate-log=FILE"):
        read_bytes(zlib.compress(b"1, 100, 0, 4096\n" * 100), "x_lat.1.log.fz")


def test_flushes_that_old_logs_call_reads_are_no_reads() -> None:
    lines = [f"{i}, {1_000_000 if i % 5 == 0 else 100_000}, 0, {0 if i % 5 == 0 else 4096}, 0" for i in range(50)]
    found = read_bytes("".join(f"{line}\n" for line in lines).encode(), "a_clat.1.log")
    read = found.cells[0].sides["read"].figures
    assert (read["ios"].value, read["time.max"].value, found.cells[0].asked) == (40, 100_000, {"bs": 4096})
    assert any(note.startswith("10 lines of no bytes are left out") for note in found.notes)


def test_a_key_that_comes_three_times_is_read_once() -> None:
    text = (DATA / "fio-2.json").read_text()
    first = re.search(r'"1\.000000"\s*:', text)
    assert first is not None
    twice = text[: first.start()] + '"0.00" : 0,\n' * 3 + text[first.start() :]
    a, b = read_bytes(text.encode()), read_bytes(twice.encode())
    assert [c.sides for c in a.cells] == [c.sides for c in b.cells]


def test_the_disks_under_an_array_are_no_results() -> None:
    document = json.loads((DATA / "fio-mixed.json").read_text())
    document["disk_util"] = [{"name": "md0", "read_ios": 0, "write_ios": 0, "aggr_read_ios": 77, "aggr_util": 3.5}]
    found = read_bytes(json.dumps(document).encode())
    assert [c.sides for c in found.cells] == [c.sides for c in read_bytes((DATA / "fio-mixed.json").read_bytes()).cells]


def figures_of(text: str) -> list[dict[str, object]]:
    return [{side: m.figures for side, m in cell.sides.items()} for cell in read_bytes(text.encode()).cells]


def test_a_mount_over_rdma_or_of_an_old_kernel_is_read_as_any() -> None:
    text = (DATA / "mountstats.txt").read_text()
    rdma = re.sub(r"xprt:\ttcp[^\n]*", "xprt:\trdma 0 0 5 1 2 100 100 0 5 0 10 20 30 40 50 60 70 80 90 100", text)
    # Before kernel 5.3 an operation had eight columns: no errors.
    old = re.sub(r"(?m)^(\s+[A-Z_]+: (?:\d+ ){7}\d+) \d+$", r"\1", text.replace("statvers=1.1", "statvers=1.0"))
    assert old.count("\n") == text.count("\n") and old != text
    assert figures_of(rdma) == figures_of(old) == figures_of(text)
