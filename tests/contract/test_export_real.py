"""A run of the real engine in every form: what other programs read is what was measured."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import promtool
import pytest
from commands import strata
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from pyarrow import parquet

from strata.app.check import check_file
from strata.app.export import export
from strata.app.imported_run import with_workloads
from strata.app.kept import load_report
from strata.errors import UsageError
from strata.formats.exports import form_of, forms
from strata.formats.exports.csv import plain
from strata.formats.exports.sheet import Sheet
from strata.formats.exports.tables import TABLES
from strata.formats.results import Source, read_result
from strata.model.imported import Imported
from strata.model.run import Report
from strata.plan.words import workload_from_words


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One run: two layers' worth is not needed, a mixed workload over two rounds is."""
    folder = tmp_path_factory.mktemp("export")
    url = f"sqlite:///{folder}/s.db"
    words = ("--rw", "randrw", "--rwmixread", "70", "--bs", "8k", "--iodepth", "4", "--rounds", "2")
    files = ("--csv", folder / "c.csv", "--jsonl", folder / "c.jsonl")
    done = strata(
        "measure", folder, *words, *files, "--size", "16m", "--runtime", "150ms", "--store", url, "--progress", "none"
    )
    assert done.returncode == 0, done.stderr
    assert all(f"cells: {path}" in done.stderr for path in files[1::2])
    yield url


@pytest.fixture(scope="module")
def report(store: str) -> Report:
    return load_report(None, store)


LOGS = ("_iops.1.log", "_bw.1.log", "_lat.1.log")


def read_file(path: Path) -> Imported:
    made = path.read_bytes()
    return read_result(Source(path.name, len(made), lambda: iter((made,))))


def told(store: str, form: str, table: str = "cells") -> str:
    made = export(form, (), store, table)
    assert isinstance(made, str)
    return made


def rows(store: str, table: str = "cells") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(told(store, "csv", table))))


@pytest.mark.parametrize("table", TABLES)
def test_csv_and_json_lines_hold_the_same(store: str, table: str) -> None:
    columns = TABLES[table].columns
    lines = [json.loads(line) for line in told(store, "jsonl", table).splitlines()]
    assert lines and len(lines) == len(rows(store, table))
    for one, other in zip(lines, rows(store, table), strict=True):
        for column in columns:
            text = other[column.heading]
            assert (column.key in one) == (text != "")
            if isinstance(one.get(column.key), float):
                assert float(text) == one[column.key]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_command_writes_the_cells_that_it_measured(store: str, form: str) -> None:
    written = Path(store.removeprefix("sqlite:///")).with_name(f"c.{form}")
    assert written.read_text() == export(form, (), store)


@pytest.mark.parametrize("table", TABLES)
def test_parquet_holds_the_same_in_types_that_no_run_changes(store: str, table: str) -> None:
    made = export("parquet", (), store, table)
    assert isinstance(made, bytes)
    read = parquet.read_table(io.BytesIO(made))
    empty = parquet.read_table(io.BytesIO(form_of("parquet").write(Sheet(TABLES[table].columns, ()))))
    assert read.schema.equals(empty.schema)
    rows = [{k: v for k, v in row.items() if v is not None} for row in read.to_pylist()]
    assert rows == [json.loads(line) for line in told(store, "jsonl", table).splitlines()]


def test_what_is_no_text_goes_into_a_file_and_nowhere_else(store: str, tmp_path: Path) -> None:
    words = ("export", "parquet", "--store", store)
    refused = strata(*words)
    assert refused.returncode == 2 and not refused.stdout and "--output PATH" in refused.stderr
    done = strata(*words, "--output", tmp_path / "c.parquet")
    assert done.returncode == 0 and not done.stdout
    assert (tmp_path / "c.parquet").read_bytes() == export("parquet", (), store)


@pytest.mark.parametrize("form", ["csv", "jsonl", "openmetrics", "fio"])
def test_a_file_holds_what_stdout_would(store: str, form: str, tmp_path: Path) -> None:
    words = ("export", form, "--store", store)
    assert strata(*words, "--output", tmp_path / "x").returncode == 0
    assert (tmp_path / "x").read_text() == strata(*words).stdout
    (tmp_path / "mine").write_text("mine")
    assert strata(*words, "--output", tmp_path / "mine").returncode == 5 and (tmp_path / "mine").read_text() == "mine"


def test_a_matrix_is_exported_with_the_keys_of_its_cells(tmp_path: Path) -> None:
    url, file = f"sqlite:///{tmp_path}/s.db", tmp_path / "m.jsonl"
    words = ("--matrix", "bs=4k;iodepth=2;rw=randread", "--budget", "800ms", "--ramp-time", "10ms", "--jsonl", file)
    done = strata("measure", "null:", *words, "--store", url, "--progress", "none", "--json")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    cells = json.loads(done.stdout)["cells"]
    assert [line["workload"] for line in lines] == ["randread-4KiB-qd2"]
    assert [(one["iops"], one["visits"]) for one in lines] == [(c["iops"]["value"], c["visits"]) for c in cells]
    assert told(url, "jsonl") == file.read_text()
    visits = [json.loads(line) for line in told(url, "jsonl", "rounds").splitlines()]
    assert {line["workload"] for line in visits} == {line["workload"] for line in lines}
    assert len(visits) >= sum(c["visits"] for c in cells)
    for form in ("fio", "hdr"):
        assert lines[0]["workload"] in told(url, form)
    with pytest.raises(UsageError, match="it is a matrix"):
        export("csv", (), url, "counters")


def test_the_cells_are_those_of_the_report_with_their_intervals(store: str, report: Report) -> None:
    assert len(rows(store)) == len(report.analysis.cells)
    for cell, row in zip(report.analysis.cells, rows(store), strict=True):
        assert (row["layer"], row["workload"], float(row["iops"])) == (cell.layer, cell.workload.key, cell.iops.value)
        assert float(row["iops low"]) == cell.iops.low and float(row["time.mean [ns]"]) == cell.mean_ns.value
        assert row["time.p99.99 [ns]"] == ""  # Too few I/Os: missing, and not 0.


def test_a_run_is_one_row_with_its_verdict(store: str, report: Report) -> None:
    (row,) = rows(store, "runs")
    verdict = report.diagnosis.verdict
    assert (row["run"], row["verdict"], row["cause"]) == (report.run.id, verdict.kind.value, verdict.cause.value)
    assert (row["cells"], row["rounds"], row["layers"]) == ("1", "2", "file system")
    assert float(row["runtime [s]"]) == 0.15 and row["source"] == row["name"] == ""


def test_every_i_o_is_in_the_rounds_and_in_the_intervals(store: str, report: Report) -> None:
    done = sum(r.result.read.ops + r.result.write.ops for r in report.results if r.result is not None)
    assert sum(int(row["ios"]) for row in rows(store, "rounds")) == done
    assert sum(int(row["ios.read"]) + int(row["ios.write"]) for row in rows(store, "intervals")) == done


def test_the_laws_can_be_asked_of_what_was_exported(store: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(told(store, "csv"))
    checked = check_file(tmp_path / "t.csv")
    # Where the disk stands still, the edges of a short span count: the table holds how long its longest I/O was.
    assert {"in_flight", "edge"} <= set(checked.figures)
    assert {"little", "rate"} <= set(checked.asked) and not checked.broken


def test_an_exported_table_is_imported_as_the_same_cells(store: str, report: Report) -> None:
    made = told(store, "csv").encode()
    found = with_workloads(read_result(Source("x", len(made), lambda: iter((made,)))), {})
    for cell, mine in zip(found.cells, report.analysis.cells, strict=True):
        # What a total of both directions consists of, the table does not say: it is no cell that can be measured again.
        assert workload_from_words(**cell.asked).key == mine.workload.key and cell.incomplete
        assert cell.total is not None and cell.total.base("ios") == mine.ios


def test_metrics_are_what_prometheus_reads(store: str, report: Report) -> None:
    found = {f.name: f for f in text_string_to_metric_families(told(store, "openmetrics"))}
    cell = report.analysis.cells[0]
    (sample,) = found["strata_cell_iops"].samples
    assert sample.value == cell.iops.value and sample.labels["workload"] == cell.workload.key
    quantiles = found["strata_cell_latency_seconds"].samples
    assert {s.labels["quantile"]: s.value * 1e9 for s in quantiles if "quantile" in s.labels} == {
        f"{float(p) / 100:.10g}": pytest.approx(e.value) for p, e in cell.latency_ns.items()
    }


def test_promtool_finds_nothing_to_say_of_the_metrics(store: str) -> None:
    promtool.checked("metrics", told(store, "openmetrics"))


def test_what_promtool_says_is_a_failure_and_so_is_its_absence_where_it_is_required(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(AssertionError, match="error while linting"):
        promtool.checked("metrics", "no metric\n")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("STRATA_REQUIRE", "all")
    with pytest.raises(pytest.fail.Exception, match="promtool is not installed"):
        promtool.checked("metrics", "")
    monkeypatch.delenv("STRATA_REQUIRE")
    with pytest.raises(pytest.skip.Exception, match="promtool is not installed"):
        promtool.checked("metrics", "")


def test_every_cell_is_one_job_of_fio_plot_and_its_logs_are_read_again(
    store: str, report: Report, tmp_path: Path
) -> None:
    words = ("export", "fio-plot", "--store", store, "--output", tmp_path / "p")
    assert strata(*words).returncode == 0
    (cell,) = report.analysis.cells
    at = tmp_path / "p" / "file_system" / "8192"
    name = "randrw-iodepth-4-numjobs-1"
    assert {p.name for p in at.iterdir()} == {f"{name}{end}" for end in (".json", *LOGS)}
    (job,) = json.loads((at / f"{name}.json").read_text())["jobs"]
    assert sum(job[side]["total_ios"] for side in ("read", "write")) == cell.ios
    rounds = [r.result for r in report.results if r.kind == "measure" and r.result is not None]
    assert job["read"]["total_ios"] / job["read"]["iops"] == pytest.approx(sum(r.seconds for r in rounds))
    assert {"rw", "bs", "iodepth", "numjobs"} <= job["job options"].keys() and job["jobname"] == cell.name
    assert {"iops_stddev", "bw", "lat_ns"} <= job["read"].keys() and {"usr_cpu", "sys_cpu"} <= job.keys()
    bins = [(int(ns), n) for side in ("read", "write") for ns, n in job[side]["clat_ns"]["bins"].items()]
    within = {edge: sum(n for ns, n in bins if ns <= edge * 1000) / cell.ios * 100 for edge in (50, 100, 1000)}
    told = list(job["latency_us"].values())
    below = sum(job["latency_ns"].values())
    assert [below + sum(told[:n]) for n in (5, 6, 10)] == [pytest.approx(share) for share in within.values()]
    assert below + sum(told) + sum(job["latency_ms"].values()) == pytest.approx(100)
    for end in LOGS:
        (one,) = read_file(at / f"{name}{end}").cells
        assert set(one.sides) == {"read", "write"} and one.points
    again = strata(*words)
    assert again.returncode == 5 and "it is there already" in again.stderr


def test_another_program_reads_the_distributions(store: str, report: Report, tmp_path: Path) -> None:
    (tmp_path / "t.hlog").write_text(told(store, "hdr"))
    reader = HistogramLogReader(str(tmp_path / "t.hlog"), HdrHistogram(1, 3600 * 10**9, 3))
    counts = []
    while (one := reader.get_next_interval_histogram()) is not None:
        counts.append(one.get_total_count())
    assert counts == [
        side.ops for r in report.results if r.result is not None for side in (r.result.read, r.result.write) if side.ops
    ]


def test_what_is_exported_for_fio_is_imported_as_the_same_cells(store: str, report: Report) -> None:
    made = told(store, "fio").encode()
    found = read_result(Source("x", len(made), lambda: iter((made,))))
    measured = [r.result for r in report.results if r.kind == "measure" and r.result is not None]
    assert len(found.cells) == len(measured)
    for cell, result in zip(found.cells, measured, strict=True):
        for name, side in (("read", result.read), ("write", result.write)):
            said = cell.sides[name]
            assert (said.base("ios"), said.base("bytes")) == (side.ops, side.bytes)
            assert said.base("time.mean") == pytest.approx(side.service_sum_ns / side.ops)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "=cmd|' /C calc'!A0"])
def test_no_text_is_a_formula(text: str) -> None:
    assert str(plain(text)).startswith("'") and plain(-1.5) == -1.5 and plain("a=1") == "a=1"


@pytest.mark.parametrize(("form", "table"), [("xls", "cells"), ("csv", "cell"), ("hdr", "rounds"), ("fio", "counters")])
def test_what_there_is_not_is_named_with_what_there_is(store: str, form: str, table: str) -> None:
    with pytest.raises(UsageError) as caught:
        export(form, (), store, table)
    assert "choose one of" in caught.value.render()


def test_every_form_says_what_it_is() -> None:
    assert [f.name for f in forms()] == sorted(f.name for f in forms()) and all(f.title for f in forms())
