"""What fio wrote, against an independent reading of the same file: totals are those that it printed."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from results_of import DATA, read_bytes, read_file

from strata.formats.results import Misread
from strata.model import histogram
from strata.model.imported import ImportedCell, Measured

MIXED = (DATA / "fio-mixed.json").read_text()


def document(name: str = "fio-mixed.json") -> dict[str, Any]:
    text = (DATA / name).read_text()
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text, text.index("{"))[0]
    return found


def of(cell: ImportedCell, side: str) -> Measured:
    return cell.sides[side]


@pytest.mark.parametrize("name", ["fio-mixed.json", "fio-both.txt"])
def test_counts_rates_and_times_are_those_of_the_document(name: str) -> None:
    jobs, cells = document(name)["jobs"], read_file(name).cells
    assert [c.name for c in cells] == [j["jobname"] for j in jobs]
    for job, cell in zip(jobs, cells, strict=True):
        for side in ("read", "write"):
            said = job[side]
            if not said["total_ios"]:
                assert side not in cell.sides, "what did nothing is absent, not 0"
                continue
            found = of(cell, side)
            assert found.base("ios") == said["total_ios"]
            assert found.base("bytes") == said["io_bytes"]
            assert found.base("iops") == said["iops"]
            assert found.base("rate") == said["bw_bytes"]
            assert found.base("time.mean") == said["lat_ns"]["mean"]
            printed = said["clat_ns"]["percentile"]
            assert {found.base(f"time.p{float(p):.10g}") for p in printed} == set(map(float, printed.values()))


def test_the_total_of_a_mixed_job_is_the_sum_of_its_directions() -> None:
    [mixed, _] = read_file("fio-mixed.json").cells
    job = document()["jobs"][0]
    assert mixed.total is not None
    assert mixed.total.base("ios") == job["read"]["total_ios"] + job["write"]["total_ios"]
    assert mixed.total.base("bytes") == job["read"]["io_bytes"] + job["write"]["io_bytes"]
    mean = sum(job[d]["lat_ns"]["mean"] * job[d]["total_ios"] for d in ("read", "write")) / mixed.total.base("ios")
    assert mixed.total.base("time.mean") == pytest.approx(mean)


def test_settings_lines_and_time_are_kept() -> None:
    found = read_file("fio-mixed.json")
    assert (found.tool, found.version) == ("fio", "3.33")
    mixed, seq = found.cells
    assert mixed.asked == {
        "rw": "randrw", "rwmixread": 70, "bs": 8192, "iodepth": 4, "threads": 2, "direct": True, "randommap": True,
    }  # fmt: skip
    assert (seq.asked["rw"], seq.asked["bs"], seq.asked["iodepth"]) == ("read", 131072, 1)
    lines = MIXED.splitlines()
    assert all('"jobname"' in lines[c.line - 1] for c in found.cells)
    assert found.started_unix_ns is not None
    assert abs(found.started_unix_ns / 1e9 - document()["timestamp"]) < 5


def test_jobs_of_a_group_are_one_cell_whose_distribution_is_merged_exactly() -> None:
    [cell] = read_file("fio-plus.json").cells
    jobs = document("fio-plus.json")["jobs"]
    bins: dict[int, int] = {}
    for job in jobs:
        for ns, n in job["read"]["clat_ns"]["bins"].items():
            bins[int(ns)] = bins.get(int(ns), 0) + n
    read = of(cell, "read")
    assert len(cell.parts) == len(jobs) == 2
    assert read.base("ios") == sum(j["read"]["total_ios"] for j in jobs)
    assert read.base("iops") == pytest.approx(sum(j["read"]["iops"] for j in jobs))
    assert read.histogram is not None
    assert histogram.total(read.histogram) == sum(bins.values())
    assert read.histogram == histogram.from_bins(bins)
    middle = np.sort(np.repeat(list(bins), list(bins.values())))[sum(bins.values()) // 2]
    assert read.base("time.p50") == pytest.approx(float(middle), rel=0.02)


def test_without_bins_percentiles_of_a_group_are_left_out_and_named() -> None:
    text = re.sub(r'"bins" : \{[^}]*\}', '"bins" : {}', (DATA / "fio-plus.json").read_text())
    [cell] = read_bytes(text.encode()).cells
    read = of(cell, "read")
    assert "time.p99" not in read.figures
    assert "read time.p99" in cell.approximate
    assert "time.p99" in of(cell.parts[0], "read").figures
    assert read.base("time.max") == max(of(p, "read").base("time.max") or 0 for p in cell.parts)


def test_snapshots_are_the_course_of_one_run() -> None:
    found = read_file("fio-snapshots.json")
    [cell] = found.cells
    text = (DATA / "fio-snapshots.json").read_text()
    totals = [int(n) for n in re.findall(r'"read" : \{.*?"total_ios" : (\d+)', text, re.S)]
    assert of(cell, "read").base("ios") == totals[-1]
    assert sum(p.sides["read"]["ios"] for p in cell.points) == totals[-1]
    assert any("--status-interval" in note for note in found.notes)


def test_two_runs_in_one_file_are_two() -> None:
    assert [c.name for c in read_bytes((MIXED + "\n" + MIXED).encode()).cells] == ["mixed", "seq"] * 2
    assert len(read_bytes(f"[{MIXED}, {MIXED}]".encode()).cells) == 4


def test_text_before_between_and_after_is_passed_over() -> None:
    around = f"fio: a note\nWARNING: {{not json\n{MIXED}\nRun status\n"
    assert len(read_bytes(around.encode()).cells) == 2
    broken = MIXED.replace('\n  "jobs"', '\nfio: pid=1, err=5/file:io_u.c\n  "jobs"', 1)
    found = read_bytes(broken.encode())
    assert len(found.cells) == 2
    assert any("messages between the lines" in note for note in found.notes)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_other_encodings_and_line_ends(encoding: str) -> None:
    content = MIXED.replace("\n", "\r\n").encode(encoding)
    found = read_bytes(content)
    assert found.cells == read_file("fio-mixed.json").cells
    assert bool(found.notes) == encoding.startswith("utf-16")


def test_before_three_times_are_in_microseconds_and_bytes_in_kib() -> None:
    found = read_file("fio-2.json")
    read = of(found.cells[0], "read")
    assert read.base("bytes") == 4915200 * 1024 == read.base("ios") * 8192  # type: ignore[operator]
    assert read.base("rate") == 81920 * 1024
    assert read.base("time.mean") == 1561800
    assert read.base("time.p99.99") == 9408000
    assert "time.p0" not in read.figures, "places that are not used are no percentiles"
    assert any("KiB" in note for note in found.notes)


def test_bw_alone_is_in_kib_and_cut_off() -> None:
    job = document()
    for one in job["jobs"]:
        for side in ("read", "write"):
            del one[side]["bw_bytes"]
    rate = of(read_bytes(json.dumps(job).encode()).cells[0], "read").figures["rate"]
    assert rate.unit == "KiB/s"
    low, high = rate.bounds()
    assert low <= document()["jobs"][0]["read"]["bw_bytes"] <= high + 1


def test_options_that_fio_did_not_repeat_are_not_its_defaults() -> None:
    job = document("fio-2.json")
    del job["jobs"][0]["job options"]
    cell = read_bytes(json.dumps(job).encode()).cells[0]
    assert (cell.asked, cell.incomplete) == ({}, ())


def test_clients_are_read_and_their_sum_is_not_counted_twice() -> None:
    job = document()
    first = job.pop("jobs")[0]
    job["client_stats"] = [first | {"hostname": h} for h in ("a", "b")] + [first | {"jobname": "All clients"}]
    found = read_bytes(json.dumps(job).encode())
    assert [c.words["host"] for c in found.cells] == ["a", "b"]
    assert any("all clients" in why for why in found.left_out)


def test_a_job_that_ended_with_an_error_says_so() -> None:
    job = document()
    job["jobs"][0] |= {"error": 5, "total_err": 3}
    found = read_bytes(json.dumps(job).encode())
    assert found.cells[0].errors == 3
    assert any("error 5" in note for note in found.notes)


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        (MIXED[:4000], None, "breaks off"),
        (MIXED.replace('"iops" : ', '"iops" : "', 1), None, ""),
        (MIXED.replace('"total_ios" : ', '"total_ios" : true, "x" : ', 1), None, "total_ios is 'True'"),
        ('{"fio version": "fio-3.33", "jobs": []}', None, "nothing was measured"),
        ('{"fio version": "fio-3.33", "jobs": {"a": 1}}', None, "no jobs"),
        ('{"fio version": "fio-3.33", "jobs": [' + "[" * 5000, None, "nested deeper"),
    ],
)
def test_what_is_broken_says_where_and_why(text: str, where: None, why: str) -> None:
    with pytest.raises(Misread) as e:
        read_bytes(text.encode())
    assert why in e.value.why
    if "breaks off" in why:
        assert (e.value.line, e.value.column) == (MIXED[:4000].count("\n") + 1, e.value.column)
        assert e.value.column is not None


def test_terse_of_every_version_has_the_figures_at_its_places() -> None:
    for version, head in ((2, 2), (3, 3), (4, 3), (5, 3)):
        text = (DATA / f"fio-terse{version}.txt").read_text()
        fields = text.strip().split(";")
        assert fields[0] == str(version)
        [cell] = read_bytes(b"clock setaffinity failed: Invalid argument\n" + text.encode()).cells
        assert (cell.name, cell.line) == ("mixed", 2)
        first = fields[head + 2 :]
        wide = next(i for i, f in enumerate(first[13:], 13) if "%=" in f and "%=" not in first[i - 1])
        for side, part in (("read", first), ("write", first[wide - 12 :])):
            found = of(cell, side)
            assert [found.figures[k].value for k in ("bytes", "rate", "iops")] == list(map(float, part[:3])), version
            assert found.base("time.mean") == pytest.approx(float(part[34]) * 1000)
            assert found.base("time.p99") == float(re.findall(r"99\.000000%=(\d+)", text)[side == "write"]) * 1000
        assert set(cell.sides) == {"read", "write"}


def test_the_text_has_the_counts_of_its_own_summary() -> None:
    text = (DATA / "fio-mixed.txt").read_text()
    found = read_file("fio-mixed.txt")
    issued = re.findall(r"issued rwts: total=(\d+),(\d+)", text)
    for cell, (reads, writes) in zip(found.cells, issued, strict=True):
        assert of(cell, "read").base("ios") == int(reads)
        assert (of(cell, "write").base("ios") if "write" in cell.sides else 0) == int(writes)
        low, high = of(cell, "read").figures["iops"].bounds()
        assert low <= int(reads) / (cell.seconds or 0) <= high
        assert text.splitlines()[cell.line - 1].startswith(f"{cell.name}: (groupid=")
    assert (found.version, found.cells[0].asked["threads"], found.cells[0].asked["iodepth"]) == ("3.33", 2, 4)
    printed = re.findall(r"\blat \(usec\): min=.*?avg=\s*([\d.]+)", text)
    assert of(found.cells[0], "read").base("time.mean") == pytest.approx(float(printed[0]) * 1000)


def test_text_of_fio_2() -> None:
    text = (
        "old: (g=0): rw=randread, bs=8K-8K/8K-8K/8K-8K, ioengine=libaio, iodepth=16\nfio-2.16\nStarting 1 process\n\n"
        "old: (groupid=0, jobs=1): err= 0: pid=99: Fri Jul 14 02:41:00 2017\n"
        "  read : io=4800.0MB, bw=81920KB/s, iops=10240, runt= 60000msec\n"
        "    slat (usec): min=2, max=310, avg= 6.50, stdev= 1.20\n"
        "    clat (msec): min=1, max=22, avg= 1.56, stdev= 0.41\n"
        "     lat (msec): min=1, max=22, avg= 1.57, stdev= 0.41\n"
        "     issued    : total=r=614400/w=0/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0\n"
    )
    found = read_bytes(text.encode())
    read = of(found.cells[0], "read")
    assert (found.version, read.base("ios"), read.base("iops")) == ("2.16", 614400, 10240)
    assert read.base("rate") == 81920 * 1024
    assert read.base("bytes") == pytest.approx(614400 * 8192)
    assert read.base("time.mean") == pytest.approx(1.57e6)
    assert found.cells[0].asked["bs"] == 8192


def log_rows(name: str) -> np.ndarray[Any, Any]:
    lines = (DATA / name).read_text().splitlines()
    return np.array([[int(w) for w in line.split(",")] for line in lines], dtype=np.int64)


def test_a_log_of_each_io_is_its_distribution() -> None:
    found = read_file("fio_lat.1.log")
    rows, job = log_rows("fio_lat.1.log"), document("fio-both.txt")["jobs"][0]["write"]
    write = of(found.cells[0], "write")
    assert write.base("ios") == len(rows) == job["total_ios"]
    assert write.base("bytes") == rows[:, 3].sum() == job["io_bytes"]
    assert write.base("time.mean") == pytest.approx(rows[:, 1].mean()) == pytest.approx(job["lat_ns"]["mean"])
    assert (write.base("time.min"), write.base("time.max")) == (rows[:, 1].min(), rows[:, 1].max())
    assert write.base("time.p50") == pytest.approx(float(np.sort(rows[:, 1])[len(rows) // 2 - 1]), rel=0.01)
    assert sum(p.sides["write"]["ios"] for p in found.cells[0].points) == len(rows)


def test_what_a_log_holds_is_said_by_its_name_alone_and_that_is_said() -> None:
    content = (DATA / "fio_lat.1.log").read_bytes()
    found = read_bytes(content, "notes.txt")
    assert "time.mean" not in of(found.cells[0], "write").figures
    assert any("what its values are" in why for why in found.left_out)
    assert any("its name says so" in note for note in read_file("fio_clat.1.log").notes)


def test_windows_of_a_log_are_means() -> None:
    content = b"100, 478455, 1, 0, 0\n200, 406178, 1, 0, 0\n300, 402560, 0, 0, 0\n"
    cell = read_bytes(content, "x_bw.1.log").cells[0]
    assert of(cell, "write").base("rate") == pytest.approx((478455 + 406178) / 2 * 1024)
    assert "ios" not in of(cell, "write").figures
    assert of(read_bytes(content, "x_iops.log").cells[0], "read").base("iops") == 402560


def test_times_of_an_old_log_are_in_microseconds_and_time_may_go_back() -> None:
    found = read_bytes(b"1, 850, 0, 4096\n3, 900, 0, 4096\n2, 950, 1, 4096\n", "x_lat.log")
    assert of(found.cells[0], "read").base("time.mean") == 875e3
    assert any("µs" in note for note in found.notes)
    assert any("earlier than the one before" in note for note in found.notes)


def test_a_line_of_a_log_that_is_none_is_named() -> None:
    content = b"1, 850, 0, 4096, 0\n" * 40 + b"2, -5, 0, 4096, 0\n" + b"3, 850, 0, 4096, 0\n"
    with pytest.raises(Misread) as e:
        read_bytes(content, "x_lat.log")
    assert e.value.line == 41


def test_histograms_of_a_log_add_up() -> None:
    rows = log_rows("fio_clat_hist.1.log")
    write = of(read_file("fio_clat_hist.1.log").cells[0], "write")
    assert write.base("ios") == rows[:, 3:].sum()
    # Of the same run: what ended before the last window.
    times = log_rows("fio_clat.1.log")
    early = times[times[:, 0] <= rows[-1, 0]]
    assert abs(len(early) - rows[:, 3:].sum()) <= 2
    assert write.base("time.mean") == pytest.approx(early[:, 1].mean(), rel=0.05)


@pytest.mark.parametrize(("bins", "ns"), [(1856, 1), (1216, 1000), (928, 1), (152, 1000)])
def test_bins_of_every_version_and_coarseness(bins: int, ns: int) -> None:
    whole = 1856 if ns == 1 else 1216
    at = (whole // 4) * bins // whole
    row = [0] * bins
    row[at] = 7
    content = ", ".join(map(str, [500, 0, 4096, *row])).encode() + b"\n"
    read = of(read_bytes(content).cells[0], "read")
    assert read.base("ios") == 7
    index = at * (whole // bins)
    low = (64 + index % 64) << ((index >> 6) - 1)
    assert read.base("time.mean") == pytest.approx(low * ns, rel=0.02 * whole / bins + 0.01)


def test_a_long_log_costs_less_than_taking_it_apart_in_python() -> None:
    """100 MB of it in ten seconds: both are measured here, because what a second does depends on the machine."""
    lines = [f"{i // 20}, {20_000 + i * 7919 % 880_000}, {i & 1}, 4096, 0\n" for i in range(200_000)]
    content = "".join(lines).encode()

    def plainly() -> int:
        return len([[int(word) for word in line.split(b",")] for line in content.split(b"\n") if line])

    def cost(work: Callable[[], Any]) -> float:
        spent = []
        for _ in range(3):
            begun = time.process_time()
            work()
            spent.append(time.process_time() - begun)
        return min(spent)

    assert cost(lambda: read_bytes(content, "x_lat.log")) < cost(plainly)


def test_a_log_takes_memory_for_its_seconds_and_not_for_its_lines() -> None:
    content = b"".join(b"%d, %d, 0, 4096, 0\n" % (i * 1000, 20_000 + i) for i in range(50_000))
    [cell] = read_bytes(content, "x_lat.log").cells
    assert len(cell.points) <= 10_000
    assert sum(p.sides["read"]["ios"] for p in cell.points) == 50_000
    with pytest.raises(Misread, match="beyond"):
        read_bytes(content + b"9999999999999, 1, 0, 4096, 0\n", "x_lat.log")
