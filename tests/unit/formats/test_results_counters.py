"""Counters over time of sysstat and Windows, against an independent reading of the same file."""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from results_of import DATA, read_bytes, read_file

from strata.app.imports import import_paths
from strata.app.kept import load_report
from strata.formats.results import Misread
from strata.model.imported import Imported
from strata.store import open_store

Samples = dict[tuple[str, str], list[float]]


def of(found: Imported) -> Samples:
    """By column and object."""
    return {(s.metric.partition(" ")[2], s.labels.get("of", "")): list(s.values) for s in found.counters}


def times(found: Imported) -> list[datetime]:
    return [datetime.fromtimestamp(t / 1e9, UTC) for t in found.counters[0].t_ns]


def test_iostat_has_every_report_but_the_first() -> None:
    text = (DATA / "iostat-x.txt").read_text()
    head = re.findall(r"^Device +(.*)$", text, re.M)[0].split()
    rows = [row.split() for row in re.findall(r"^vda +(.*)$", text, re.M)][1:]
    found = of(read_file("iostat-x.txt"))
    assert {c: found[(c, "vda")] for c in head} == {c: [float(r[i]) for r in rows] for i, c in enumerate(head)}
    busy = [line.split() for line in text.split("avg-cpu")[2:] for line in line.split("\n")[1:2]]
    assert found[("%user", "")] == [float(b[0]) for b in busy]
    stamps = re.findall(r"^(\d{4}-\d\d-\d\dT\S+)$", text, re.M)[1:]
    assert times(read_file("iostat-x.txt")) == [datetime.fromisoformat(s) for s in stamps]


@pytest.mark.parametrize(
    ("head", "row", "units"),
    [
        ("rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util", "0,1 0 9 8 72 64 16 1,5 2,5 1 30,5",
         {"avgrq-sz": "sectors", "await": "ms", "svctm": "ms"}),
        ("r/s rMB/s rrqm/s %rrqm r_await rareq-sz svctm aqu-sz %util", "9 1 0 0 2.5 8 1 1.5 30.5",
         {"rMB/s": "MiB/s", "%rrqm": "%", "rrqm/s": "requests/s"}),
    ],
)  # fmt: skip
def test_older_columns_and_commas(head: str, row: str, units: dict[str, str]) -> None:
    report = f"Device:  {head}\nsda  {row}\n\n"
    found = read_bytes(f"Linux 3.10.0 (old) \t11/23/2016 \t_x86_64_\t(8 CPU)\n\n{report * 3}".encode())
    assert {s.metric.partition(" ")[2]: s.unit for s in found.counters}.items() >= units.items()
    assert of(found)[("%util", "sda")] == [30.5, 30.5]
    assert any("one second apart" in note for note in found.notes)


def test_a_single_report_is_of_the_time_since_boot() -> None:
    text = (DATA / "iostat-x.txt").read_text()
    with pytest.raises(Misread, match="since boot"):
        read_bytes(text[: text.index("\n\n\n")].encode())


def test_a_row_with_another_number_of_columns_is_named() -> None:
    text = (DATA / "iostat-x.txt").read_text()
    lines = text.splitlines()
    lines[7] += " 1.0"
    with pytest.raises(Misread) as e:
        read_bytes("\n".join(lines).encode())
    assert e.value.line == 8


def test_json_of_iostat_and_sadf_is_what_stands_in_it() -> None:
    for name, key, skipped in (("iostat.json", "disk_device", 1), ("sadf.json", "disk-device", 0)):
        statistics = json.loads((DATA / name).read_text())["sysstat"]["hosts"][0]["statistics"][skipped:]
        found = of(read_file(name))
        disks = [s["disk"][0] for s in statistics]
        for column in (c for c in disks[0] if c != key):
            assert found[(column, "vda")] == [d[column] for d in disks], column
    assert [t.second for t in times(read_file("sadf.json"))] == [45, 46]
    assert read_file("sadf.json").tool == "sadf"
    found_of = read_file("iostat.json")
    assert (found_of.tool, found_of.host) == ("iostat", "vm")


def test_sar_and_sadf_say_the_same_of_the_same_file() -> None:
    text, lines = read_file("sar-d.txt"), read_file("sadf-disk.csv")
    assert of(text) == of(lines)
    assert times(text) == times(lines)
    rows = list(csv.reader((DATA / "sadf-disk.csv").read_text().splitlines(), delimiter=";"))
    assert of(lines)[("await", "vda")] == [float(r[rows[0].index("await")]) for r in rows[1:]]


def test_other_tables_may_follow_the_disks_of_sar() -> None:
    """``sar -A``: a table of another name after an empty line is none of disks, whatever its number of columns."""
    disks = (DATA / "sar-d.txt").read_text()
    one = next(line for line in disks.splitlines() if " DEV " in line)
    at = one.split(" ")[0]
    other = f"\n{at}        IFACE   rxpck/s   txpck/s\n{at}           lo      1.00      2.00\n"
    comment = f"{at}     COM Hello, world!\n"
    assert read_bytes((disks + comment + other).encode()).counters == read_file("sar-d.txt").counters


def test_sar_goes_on_past_midnight() -> None:
    text = "Linux 6.1.0 (h) \t2026-11-23 \t_x86_64_\t(2 CPU)\n\n23:59:58 DEV tps await\n"
    found = read_bytes((text + "23:59:59 sda 1.0 2.0\n00:00:00 sda 3.0 4.0\nAverage: sda 2.0 3.0\n").encode())
    first, second = times(found)
    assert (second - first, second.day) == (timedelta(seconds=1), 24)
    assert of(found)[("tps", "sda")] == [1.0, 3.0]


def test_windows_counters_with_zone_instances_and_lost_samples() -> None:
    found = read_file("pdh.csv")
    rows = list(csv.reader((DATA / "pdh.csv").read_text().splitlines()))
    series = {(s.metric, s.labels.get("of")): s for s in found.counters}
    reads = series[("Cluster CSVFS\\Reads/sec", "Volume1")]
    assert list(reads.values) == [float(r[1]) for r in rows[2:]]
    queue = series[("PhysicalDisk\\Текущая длина очереди диска", "0 D:")]
    assert list(queue.values) == [3, 8], "-1 is a lost sample, in whatever language the counter has its name"
    assert series[("Process\\% Processor Time", "app#1")].values == (12.5, 12.25)
    began = datetime.fromtimestamp(reads.t_ns[0] / 1e9, UTC)
    assert began == datetime(2026, 11, 23, 13, 54, 42, 125000, UTC), "India is 330 minutes ahead of UTC"
    assert found.host == "NODE-1"
    assert any("twice" in why for why in found.left_out)
    assert any("lost them" in why for why in found.left_out)


@pytest.mark.parametrize(
    ("head", "said"),
    [('"(PDH-CSV 4.0) (RTZ 2 ("', "taken for UTC"), ('"(PDH-CSV 4.0) (UTC)(0)"', "its clock is UTC"),
     ('"(PDH-CSV 4.0) (Pacific Standard Time)(480)"', "480 minutes behind UTC")],
)  # fmt: skip
def test_heads_that_are_cut_off_or_of_other_writers(head: str, said: str) -> None:
    content = f'{head},"\\\\esx\\Memory\\Free"\r\n"11/23/2026 19:24:41","12"\r\n'
    for encoding in ("utf-8", "utf-16"):
        found = read_bytes(content.encode(encoding))
        assert any(said in note for note in found.notes)
        assert found.counters[0].values == (12.0,)


def test_as_typeperf_prints_it() -> None:
    content = '\r\n"(PDH-CSV 4.0)","\\\\pc\\Memory\\Free"\r\n"11/23/2026 19:24:41.123","12"\r\n'
    found = read_bytes(
        f"{content}Exiting, please wait...                         \r\nThe command completed\r\n".encode()
    )
    assert found.counters[0].values == (12.0,)


def test_a_day_that_is_none_is_named() -> None:
    content = '"(PDH-CSV 4.0) (UTC)(0)","\\\\h\\Memory\\Free"\n"11/23/2026 19:24:41","12"\n"23.11.2026 19:24:42","1"\n'
    with pytest.raises(Misread) as e:
        read_bytes(content.encode())
    assert e.value.line == 3


def test_counters_are_kept_as_a_run(tmp_path: Path) -> None:
    url = str(tmp_path / "runs.db")
    [done] = import_paths([str(DATA / "iostat-x.txt")], url).files
    assert done.run is not None and done.imported is not None
    with open_store(url) as store:
        [cell] = store.cells(done.run)
    assert (cell.kind, cell.counters) == ("counters", done.imported.counters)
    assert load_report(done.run, url).run.id == done.run


def test_counters_of_another_millennium_are_refused() -> None:
    text = (DATA / "pdh.csv").read_text()
    with pytest.raises(Misread, match="beyond the year 2262"):
        read_bytes(text.replace("/2026 ", "/2626 ").encode())
