"""diskspd's text and XML against an independent reading: the figures are those of its tables."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from results_of import DATA, read_bytes, read_file

from strata.formats.results import Misread

TEXTS = ("diskspd-linux.txt", "diskspd-linux-plain.txt", "diskspd-windows.txt")
WINDOWS = (DATA / "diskspd-windows.txt").read_text()


def totals(text: str) -> dict[str, list[float]]:
    """The lines of totals by their sections, as numbers."""
    found = re.findall(r"^(Total|Read|Write) IO$.*?^total: +([^\n]*)", text, re.M | re.S)
    return {name.lower(): [float(c) for c in line.split("|")] for name, line in found}


@pytest.mark.parametrize("name", TEXTS)
def test_every_total_is_the_printed_one(name: str) -> None:
    text = (DATA / name).read_text()
    [cell] = read_file(name).cells
    for section, (moved, ios, rate, iops, *_) in totals(text).items():
        found = cell.total if section == "total" else cell.sides.get(section)
        if not ios:
            assert found is None, "what did nothing is absent, not 0"
            continue
        if found is None:
            assert section == "total", "the only direction says the same"
            found = next(iter(cell.sides.values()))
        assert (found.base("bytes"), found.base("ios")) == (moved, ios)
        assert found.base("rate") == pytest.approx(rate * 2**20)
        assert found.base("iops") == iops
        assert abs(moved / (cell.seconds or 0) - rate * 2**20) < 0.02 * moved


@pytest.mark.parametrize("name", ["diskspd-linux.txt", "diskspd-windows.txt"])
def test_percentiles_are_those_of_all_targets(name: str) -> None:
    text = (DATA / name).read_text()
    chart = text[text.rindex("%-ile") :]
    rows = {r[0]: r[1:] for r in re.findall(r"^ *(\S+) \| +(\S+) \| +(\S+) \| +(\S+)$", chart, re.M)}
    [cell] = read_file(name).cells
    assert cell.total is not None
    for found, column in ((cell.sides["read"], 0), (cell.sides["write"], 1), (cell.total, 2)):
        for printed, key in (("50th", "p50"), ("99th", "p99"), ("3-nines", "p99.9"), ("min", "min"), ("max", "max")):
            assert found.base(f"time.{key}") == pytest.approx(float(rows[printed][column]) * 1e6)


def test_settings_of_all_targets_together() -> None:
    found = read_file("diskspd-windows.txt")
    [cell] = found.cells
    assert cell.asked == {
        "rw": "randrw", "rwmixread": 70, "bs": 8192, "iodepth": 8, "threads": 4, "direct": True, "sync": "dsync",
    }  # fmt: skip
    assert (found.host, found.settings) == ("NODE-1", {"ramp_s": 5.0, "runtime_s": 30.0, "file_bytes": 10 * 2**30})
    assert found.command.startswith("diskspd.exe -b8K")
    assert cell.cpu["busy"].base == pytest.approx(0.3)
    assert len(cell.parts) == 4
    assert sum(p.sides["read"].base("ios") or 0 for p in cell.parts) == cell.sides["read"].base("ios")
    assert found.started_unix_ns == 1677906367 * 10**9


def test_without_latency_there_is_none() -> None:
    [cell] = read_file("diskspd-linux-plain.txt").cells
    assert not [key for key in cell.sides["read"].figures if key.startswith("time")]


def test_na_is_absent_and_old_sizes_are_bytes() -> None:
    text = WINDOWS.replace("     N/A", "N/A").replace("block size: 8192", "block size: 8KiB")
    reads = text.replace("performing mix test (read/write ratio: 70/30)", "performing read test")
    one = re.sub(r"^(total: .*\|) +[\d.]+$", r"\1       N/A", reads, flags=re.M)
    [cell] = read_bytes(one.encode()).cells
    assert (cell.asked["rw"], cell.asked["bs"]) == ("randread", 8192)
    assert "time" not in cell.sides["read"].deviation


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_as_a_shell_of_windows_keeps_it(encoding: str) -> None:
    content = ("WARNING: Could not set privileges\r\n" + WINDOWS.replace("\n", "\r\n")).encode(encoding)
    assert read_bytes(content).cells[0].sides == read_file("diskspd-windows.txt").cells[0].sides


def test_heads_of_2_2() -> None:
    """Depth of each thread, cores beside processors, and another head of the percentiles."""
    text = (
        WINDOWS.replace("outstanding I/O operations:", "outstanding I/O operations per thread:")
        .replace("block size: 8192", "block size: 8KiB")
        .replace("Group | CPU |", "Socket | Node | Group | Core | CPU |")
        .replace("\ntotal:\n  %-ile", "\nTotal latency distribution:\n  %-ile")
    )
    old, new = (read_bytes(t.encode()).cells[0] for t in (WINDOWS, text))
    assert (new.asked, new.sides, new.cpu) == (old.asked, old.sides, old.cpu)


def test_indented_as_notes_keep_it() -> None:
    text = "\n".join(f"    {line}" for line in WINDOWS.split("\n"))
    assert read_bytes(text.encode()).cells[0].sides == read_file("diskspd-windows.txt").cells[0].sides


def test_two_time_spans_are_two_cells_and_one_that_was_interrupted_is_left_out() -> None:
    body = WINDOWS[WINDOWS.index("Results for timespan 1:") :]
    second = body.replace("timespan 1:", "timespan 2:")
    third = "\nResults for timespan 3:\n***\nThe test was interrupted before the measurements began. No results.\n"
    found = read_bytes((WINDOWS + "\n" + second + third).encode())
    assert [c.name for c in found.cells] == ["timespan 1", "timespan 2"]
    assert "interrupted" in found.left_out[0]


def test_rows_that_do_not_add_up_are_said() -> None:
    found = read_bytes(WINDOWS.replace("|        21000 |", "|        22000 |", 1).encode())
    assert any("add up to" in note for note in found.notes)


def test_a_row_that_is_none_is_named() -> None:
    line = next(n for n, row in enumerate(WINDOWS.splitlines(), 1) if row.startswith("total:"))
    text = re.sub(r"^total: +(\d+)", lambda m: m[0].replace(m[1], "x" * len(m[1])), WINDOWS, count=1, flags=re.M)
    with pytest.raises(Misread) as e:
        read_bytes(text.encode())
    assert e.value.line == line


def test_xml_is_the_sum_of_its_threads() -> None:
    root = ET.fromstring((DATA / "diskspd-windows.xml").read_text())
    found = read_file("diskspd-windows.xml")
    [cell] = found.cells
    read = cell.sides["read"]
    assert read.base("ios") == sum(int(e.text or 0) for e in root.iter("ReadCount"))
    assert read.base("bytes") == sum(int(e.text or 0) for e in root.iter("ReadBytes"))
    low, high = read.figures["iops"].bounds()
    assert low <= 40000 / 10 <= high
    assert (read.base("time.mean"), read.base("time.p99.9"), read.base("time.max")) == (2e6, 6e6, 9.5e6)
    assert cell.asked == {"rw": "randread", "bs": 65536, "iodepth": 4, "threads": 2, "direct": True}
    assert [p.sides["read"]["iops"] for p in cell.points] == [3960, 4040]
    assert (found.version, found.host) == ("2.1.0-dev", "NODE-1")
    assert len(cell.parts) == 2


def test_xml_without_latency_with_the_caching_of_old_versions() -> None:
    text = re.sub(r"<Latency>.*?</Latency>|<Average\w*LatencyM.*?>|<Iops>.*?</Iops>", "",
                  (DATA / "diskspd-windows.xml").read_text(), flags=re.S)  # fmt: skip
    text = re.sub(r"[\d.]+</AverageReadLatencyMilliseconds>|<ReadLatencyStdev>.*?</ReadLatencyStdev>", "", text)
    text = text.replace("<DisableOSCache>true</DisableOSCache>", "<DisableAllCache>true</DisableAllCache>")
    text = re.sub(r"\n *", "", text)
    [cell] = read_bytes(text.encode()).cells
    assert cell.asked["direct"] is True
    assert set(cell.sides["read"].figures) == {"ios", "bytes", "iops", "rate"}


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("<Results>", '<!DOCTYPE Results [<!ENTITY a "b">]><Results>', None),
        ("<ReadCount>20096", "<ReadCount>many", "ReadCount is 'many'"),
        ("</System>", "", "not valid XML"),
        ("<TestTimeSeconds>10.00", "<TestTimeSeconds>ten", "TestTimeSeconds is 'ten'"),
    ],
)
def test_xml_that_is_broken_says_why(before: str, after: str, why: str | None) -> None:
    text = (DATA / "diskspd-windows.xml").read_text().replace(before, after, 1)
    if why is None:
        # What stands before the results is not looked at: nothing of it is expanded.
        assert read_bytes(text.encode()).cells
        return
    with pytest.raises(Misread) as e:
        read_bytes(text.encode())
    assert why in e.value.why


def test_percentiles_may_follow_the_threads_at_once() -> None:
    """A file from which the tables of reads and writes were cut: the next heading is one of percentiles."""
    cut = re.sub(r"^(Read|Write) IO$.*?^total:[^\n]+$", "", WINDOWS, flags=re.M | re.S)
    cut = re.sub(r"^(?:total: *|Total latency distribution:)$", "total:", cut, flags=re.M)
    assert "Read IO" not in cut and "\ntotal:\n" in cut.replace("\r\n", "\n")
    [cell] = read_bytes(cut.encode()).cells
    [whole] = read_file("diskspd-windows.txt").cells
    assert cell.total is not None and whole.total is not None
    assert cell.total.base("ios") == whole.total.base("ios")
    assert any(key.startswith("time.p") for key in cell.total.figures)
