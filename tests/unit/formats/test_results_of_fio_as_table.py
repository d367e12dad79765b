"""A result of fio 3.33, as it wrote it, checked against the laws; and what is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from results_of import read_bytes

from strata.analyse.laws import check_table
from strata.formats.results import Misread
from strata.formats.results._table import table_of as table_of_import
from strata.formats.table import read_table
from strata.model.figures import Table

TEXT = (Path(__file__).resolve().parents[2] / "data" / "laws" / "fio.json").read_text()


def table(text: str) -> Table:
    return table_of_import(read_bytes(text.encode()), "fio")


def changed(**job: Any) -> str:
    document = json.loads(TEXT)
    document["jobs"] = document["jobs"][1:2]
    document["jobs"][0]["job options"].update(job)
    return json.dumps(document)


def test_jobs_and_directions_are_rows() -> None:
    rows = {r.name: r for r in table(TEXT).rows}
    assert list(rows) == ["mixed", "mixed, read", "mixed, write", "capped", "one-at-a-time"]
    mixed, read = rows["mixed"].figures, rows["mixed, read"].figures
    assert (mixed["depth"].base, mixed["size"].base) == (4, 8192)
    assert mixed["iops.read"].base == read["iops"].base
    assert read["ios"].base * 8192 == read["bytes"].base
    assert rows["capped"].figures["cap"].base == 400, "200 for each of two jobs"
    assert rows["capped"].figures["threads"].base == 2
    assert rows["capped"].words["loop"] == "open"
    assert rows["one-at-a-time"].words["caching"] == "on"
    assert rows["one-at-a-time"].words["pattern"] == "sequential read"


def test_percentiles_without_the_submission_are_left_out_where_that_matters() -> None:
    document = json.loads(TEXT)
    read = document["jobs"][2]["read"]
    assert "time.p99" in table(TEXT).rows[4].figures
    read["slat_ns"]["mean"] = read["lat_ns"]["mean"] / 2
    assert "time.p99" not in table(json.dumps(document)).rows[4].figures


@pytest.mark.parametrize(
    ("bs", "size"), [("4k", 4096), ("4kb", 4096), ("64KiB", None), ("512", 512), ("1m", 1 << 20), ("4k,64k", None)]
)
def test_block_sizes_as_fio_writes_them(bs: str, size: int | None) -> None:
    """``KiB`` means 1000 to fio, unless ``kb_base`` says otherwise (fio's manual, kb_base): it is left out."""
    found = table(changed(bs=bs)).rows[0].figures.get("size")
    assert (None if found is None else found.base) == size


def test_a_job_of_many_sizes_has_none() -> None:
    assert "size" not in table(changed(bssplit="4k/50:64k/50")).rows[0].figures


def test_a_note_before_the_document_is_passed_over() -> None:
    assert len(table("note: queue depth will be capped at 1\n" + TEXT).rows) == 5


@pytest.mark.parametrize(
    "text", ["", "no json", "[]", '{"jobs": 3}', '{"jobs": []}', '{"jobs": [{"read": {"total_ios": 3}}]}', '{"a": {}}']
)
def test_what_is_no_result_of_fio_is_refused(text: str) -> None:
    with pytest.raises(Misread):
        table(text)


def flags(text: str) -> list[tuple[str, bool]]:
    return [(flag.law, flag.broken) for flag in check_table(table(text))]


def test_how_far_jobs_are_apart_needs_no_size() -> None:
    """Without a size, or with one in zones, the jobs are as far apart as the option says."""
    for size in ({}, {"size": "4z"}):
        cell = read_bytes(changed(rw="write", numjobs="10", offset_increment="5z", **size).encode()).cells[0]
        assert cell.words["ranges"] == "own"
        assert any("offset_increment" in why for why in cell.incomplete)


def test_jobs_with_a_file_each_do_not_write_one_stream() -> None:
    together = {"rw": "write", "numjobs": "4", "filename": "/dev/sdx"}
    assert ("interleaved", False) in flags(changed(**together))
    assert ("interleaved", False) not in flags(changed(**together | {"filename": "", "directory": "/mnt"}))
    assert ("interleaved", False) not in flags(changed(**together, offset_increment="1g"))


def test_of_jobs_that_fio_merged_it_says_the_settings_of_the_first() -> None:
    """Five sections under group_reporting: one job with the run time of five, four times over its depth."""
    document = json.loads(TEXT)
    [job] = document["jobs"] = [document["jobs"][2]]
    job["job_runtime"] = job["read"]["runtime"] * 5
    job["read"] |= {key: job["read"][key] * 5 for key in ("iops", "bw_bytes", "total_ios", "io_bytes")}
    cell = read_bytes(json.dumps(document).encode()).cells[0]
    assert {"iodepth", "threads"}.isdisjoint(cell.asked)
    assert cell.workload is None and any("5 jobs are one figure" in why for why in cell.incomplete)
    assert ("little", True) not in flags(json.dumps(document))
    job["job_runtime"] = job["read"]["runtime"]
    assert ("little", True) in flags(json.dumps(document)), "one job alone cannot have them in flight"


def test_rates_of_jobs_that_ended_at_different_times_are_no_rate_of_all() -> None:
    document = json.loads(TEXT)
    first = document["jobs"][2]
    slow = json.loads(json.dumps(first))
    slow["read"]["runtime"] *= 5
    document["jobs"] = [first, slow]
    [cell] = read_bytes(json.dumps(document).encode()).cells
    assert {"read iops", "read rate"} <= set(cell.approximate)
    assert {"iops", "rate"}.isdisjoint(table(json.dumps(document)).rows[0].figures)
    slow["read"]["runtime"] = first["read"]["runtime"]
    assert "iops" in table(json.dumps(document)).rows[0].figures


def test_percentiles_of_completion_may_stand_beside_a_mean_with_the_submission() -> None:
    """Every I/O takes 80 µs, and 6 µs more to be submitted."""
    document = json.loads(TEXT)
    [job] = document["jobs"] = [document["jobs"][2]]
    same = dict.fromkeys(("min", "max", "mean"), 80_000)
    percentiles = {f"{p}.000000": 80_384 for p in (1, 10, 50, 90, 99)}
    job["read"]["clat_ns"] |= same | {"percentile": percentiles, "bins": {}}
    job["read"]["slat_ns"] |= dict.fromkeys(("min", "max", "mean"), 6_000)
    job["read"]["lat_ns"] |= dict.fromkeys(("min", "max", "mean"), 86_000)
    assert ("mean", True) not in flags(json.dumps(document))
    job["read"]["lat_ns"] |= dict.fromkeys(("min", "max", "mean"), 120_000)
    job["read"]["clat_ns"] |= {"max": 80_400}
    assert ("mean", True) in flags(json.dumps(document))


def test_the_last_bucket_of_fio_holds_all_that_is_longer() -> None:
    """99 of 100 I/Os take 25 ms; one takes 57 s, and its percentile is printed as 17.1 s."""
    document = json.loads(TEXT)
    [job] = document["jobs"] = [document["jobs"][2]]
    percentiles = {"50.000000": 25_000_000, "99.000000": 25_000_000, "99.500000": 17_112_760_320}
    slow = {"min": 25_000_000, "max": 57_100_000_000, "mean": 595_000_000, "percentile": percentiles, "bins": {}}
    job["read"]["clat_ns"] |= slow
    job["read"]["lat_ns"] |= {key: slow[key] for key in ("min", "max", "mean")}
    assert ("mean", True) not in flags(json.dumps(document))


def test_a_tool_s_own_list_of_percentiles_is_told_of_up_to_p99() -> None:
    """fio prints p99.99 whatever it has done; somebody's table with a p99.99 claims it."""
    document = json.loads(TEXT)
    [job] = document["jobs"] = [document["jobs"][2]]
    job["read"]["clat_ns"]["percentile"] = {"50.000000": 60_000, "99.000000": 70_000, "99.990000": 90_000}
    job["read"]["total_ios"] = 50_000
    assert ("samples", False) not in flags(json.dumps(document))
    job["read"]["total_ios"] = 5_000
    assert ("samples", False) in flags(json.dumps(document))
    plain = read_table("time.p99.99 [us],ios\n200,50000\n", "x", {})
    assert [flag.law for flag in check_table(plain)] == ["samples"]


def test_a_shortest_time_of_0_is_no_coarse_column() -> None:
    assert not check_table(read_table("iops,outstanding,time.min [us],time.mean [us]\n480000,32,0,66\n", "x", {}))


def test_where_mean_and_percentiles_do_not_belong_together_no_tail_follows_from_them() -> None:
    """fio with sqthread_poll prints times of completion since the machine was started."""
    document = json.loads(TEXT)
    [job] = document["jobs"] = [document["jobs"][2]]
    job["read"]["slat_ns"] |= dict.fromkeys(("min", "max", "mean"), 0)
    since = dict.fromkeys(("min", "max", "mean"), 1_399_498_626_318)
    job["read"]["clat_ns"] |= since | {"percentile": {"1.000000": 17_112_760_320, "99.990000": 17_112_760_320}}
    found = flags(json.dumps(document))
    assert ("mean", True) in found
    assert ("tail", False) not in found


def test_a_job_that_waits_for_flushes_need_not_keep_its_depth() -> None:
    document = json.loads(TEXT)
    [job] = document["jobs"] = [document["jobs"][2]]
    job["read"] |= {key: job["read"][key] / 2 for key in ("iops", "bw_bytes")}
    job["read"]["runtime"] *= 2
    assert ("little", False) in flags(json.dumps(document))
    job["sync"] = {"total_ios": 500, "lat_ns": {"min": 1, "max": 9, "mean": 5.0, "stddev": 1.0, "N": 500}}
    assert ("little", False) not in flags(json.dumps(document))


def test_a_mixed_workload_under_a_rate_keeps_no_depth() -> None:
    rates = {"rw": "randrw", "rate_iops": "100,100", "numjobs": "1"}
    assert all(row.words["loop"] == "open" for row in table(changed(**rates)).rows)
    assert not any("cap" in row.figures for row in table(changed(**rates)).rows)


def test_requested_rates_beside_the_free_one_are_a_curve() -> None:
    curve = "cap,iops,size,outstanding\n,1000,8K,8\n100,100,8K,8\n500,500,8K,8\n"
    assert "cap" not in [flag.law for flag in check_table(read_table(curve, "x", {}))]
    other = curve.replace(",1000,8K,8", ",1000,64K,8")
    assert "cap" in [flag.law for flag in check_table(read_table(other, "x", {}))]


def test_a_few_per_cent_of_a_short_io_are_the_load_generator_s_own_time() -> None:
    def told(iops: int) -> list[str]:
        return [f.law for f in check_table(read_table(f"iops,outstanding,time.mean [us]\n{iops},1,10.000\n", "x", {}))]

    assert (told(93_000), told(87_000)) == ([], ["little"])
    assert told(107_000) == ["little"]
