"""elbencho's CSV, JSON and live CSV: two of its own files of the same phases against each other."""

from __future__ import annotations

import pytest
from results_of import DATA, read_bytes, read_file

from strata.formats.results import Misread
from strata.model.imported import ImportedCell

CSV = (DATA / "elbencho.csv").read_text()
LIVE = (DATA / "elbencho-live.csv").read_text()


def by_phase(name: str) -> list[tuple[ImportedCell, str]]:
    return [(c, c.name.rpartition(" ")[2]) for c in read_file(name).cells]


def test_csv_and_json_say_the_same_of_the_same_phases() -> None:
    tables, documents = by_phase("elbencho.csv"), by_phase("elbencho.json")
    assert [p for _, p in tables] == [p for _, p in documents] == ["WRITE", "READ", "RWMIX70", "WRITE"]
    for (row, _), (document, _) in zip(tables, documents, strict=True):
        assert (row.asked, row.words) == (document.asked, document.words)
        assert (row.started_unix_ns, row.cpu, set(row.sides)) == (
            document.started_unix_ns, document.cpu, set(document.sides),
        )  # fmt: skip
        for side, measured in row.sides.items():
            for key, figure in measured.figures.items():
                low, high = figure.bounds()
                assert low <= (document.sides[side].base(key) or 0.0) <= high, (side, key)
    mixed = tables[2][0]
    assert set(mixed.sides) == {"read", "write"}
    assert (mixed.asked["rw"], mixed.asked["rwmixread"], mixed.asked["threads"]) == ("randrw", 70, 2)


def test_totals_are_the_printed_ones() -> None:
    heads, first = (line.split(",") for line in CSV.splitlines()[:2])
    row = dict(zip(heads, first, strict=True))
    cell = read_file("elbencho.csv").cells[0]
    write = cell.sides["write"]
    assert (write.base("iops"), write.base("rate")) == (int(row["IOPS [last]"]), int(row["MiB/s [last]"]) * 2**20)
    assert write.figures["iops"].bounds() == (int(row["IOPS [last]"]), int(row["IOPS [last]"]) + 1), "cut off"
    assert cell.asked == {"rw": "randwrite", "bs": 4096, "iodepth": 4, "threads": 2, "direct": True}
    assert cell.seconds == int(row["time ms [last]"]) / 1000
    assert "time.mean" not in cell.sides.get("read", write).figures or row["IO lat us [avg]"]


def test_a_load_is_of_all_hosts_and_heads_may_come_again() -> None:
    many = CSV.replace("run1,file,1,1,2,", "run1,file,1,3,2,")
    older = "\n".join(line.partition(",")[2] for line in CSV.splitlines())
    found = read_bytes(f"{many}{older}\n".encode())
    assert [c.asked["threads"] for c in found.cells] == [6, 6, 6, 2, 2, 2, 2, 2]
    assert found.cells[0].words["clients"] == "3 hosts"
    assert found.cells[4].started_unix_ns is None, "without a date before 2.x"


def test_what_was_not_measured_is_absent() -> None:
    found = read_file("elbencho.csv")
    assert any("MKDIRS: it counts entries" in one for one in found.left_out)
    heads, first = (line.split(",") for line in CSV.splitlines()[:2])
    first[heads.index("IO lat us [avg]")] = ""
    figures = read_bytes("\n".join([",".join(heads), ",".join(first)]).encode()).cells[0].sides["write"].figures
    assert "time.mean" not in figures
    with pytest.raises(Misread, match="values for") as e:
        read_bytes("\n".join([",".join(heads), ",".join(first[:-3])]).encode())
    assert e.value.line == 2


def test_live_rows_are_the_course_of_a_phase() -> None:
    read, mixed = read_file("elbencho-live.csv").cells
    totals = [line.split(",") for line in LIVE.splitlines() if ",Total," in line]
    last = [w for w in totals if w[2] == "READ"][-1]
    assert read.sides["read"].base("bytes") == int(last[7])
    assert [p.sides["read"]["iops"] for p in read.points] == [float(w[9]) for w in totals if w[2] == "READ"]
    assert read.points[-1].end_ns == int(last[3]) * 10**6
    assert mixed.total is not None
    assert mixed.total.base("bytes") == sum(int(w[7]) for w in totals[-2:])
    older = read_bytes("\n".join(line.partition(",")[2] for line in LIVE.splitlines()).encode()).cells
    assert [c.points for c in older] == [read.points, mixed.points]
    again = read_bytes((LIVE + LIVE).encode()).cells
    assert len(again) == 4
