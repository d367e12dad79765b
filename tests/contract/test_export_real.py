"""A run of the real engine in every form: what other programs read is what was measured."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import strata
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from strata.app.check import check_file
from strata.app.export import export
from strata.app.imported_run import with_workloads
from strata.app.kept import load_report
from strata.errors import UsageError
from strata.formats.exports import forms
from strata.formats.exports.csv import plain
from strata.formats.exports.tables import TABLES
from strata.formats.results import Source, read_result
from strata.model.run import Report
from strata.plan.words import workload_from_words


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One run: two layers' worth is not needed, a mixed workload over two rounds is."""
    folder = tmp_path_factory.mktemp("export")
    url = f"sqlite:///{folder}/s.db"
    words = ("--rw", "randrw", "--rwmixread", "70", "--bs", "8k", "--iodepth", "4", "--rounds", "2")
    done = strata(
        "measure", folder, *words, "--size", "16m", "--runtime", "150ms", "--store", url, "--progress", "none"
    )
    assert done.returncode == 0, done.stderr
    yield url


@pytest.fixture(scope="module")
def report(store: str) -> Report:
    return load_report(None, store)


def rows(store: str, table: str = "cells") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(export("csv", (), store, table))))


@pytest.mark.parametrize("table", TABLES)
def test_csv_and_json_lines_hold_the_same(store: str, table: str) -> None:
    columns = TABLES[table].columns
    lines = [json.loads(line) for line in export("jsonl", (), store, table).splitlines()]
    assert lines and len(lines) == len(rows(store, table))
    for one, other in zip(lines, rows(store, table), strict=True):
        for column in columns:
            text = other[column.heading]
            assert (column.key in one) == (text != "")
            if isinstance(one.get(column.key), float):
                assert float(text) == one[column.key]


def test_the_cells_are_those_of_the_report_with_their_intervals(store: str, report: Report) -> None:
    assert len(rows(store)) == len(report.analysis.cells)
    for cell, row in zip(report.analysis.cells, rows(store), strict=True):
        assert (row["layer"], row["workload"], float(row["iops"])) == (cell.layer, cell.workload.key, cell.iops.value)
        assert float(row["iops low"]) == cell.iops.low and float(row["time.mean [ns]"]) == cell.mean_ns.value
        assert row["time.p99.99 [ns]"] == ""  # Too few I/Os: missing, and not 0.


def test_every_i_o_is_in_the_rounds_and_in_the_intervals(store: str, report: Report) -> None:
    done = sum(r.result.read.ops + r.result.write.ops for r in report.results if r.result is not None)
    assert sum(int(row["ios"]) for row in rows(store, "rounds")) == done
    assert sum(int(row["ios.read"]) + int(row["ios.write"]) for row in rows(store, "intervals")) == done


def test_the_laws_can_be_asked_of_what_was_exported(store: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(export("csv", (), store))
    checked = check_file(tmp_path / "t.csv")
    assert {"little", "rate"} <= set(checked.asked) and not checked.broken


def test_an_exported_table_is_imported_as_the_same_cells(store: str, report: Report) -> None:
    text = export("csv", (), store).encode()
    found = with_workloads(read_result(Source("x", len(text), lambda: iter((text,)))), {})
    for cell, mine in zip(found.cells, report.analysis.cells, strict=True):
        # What a total of both directions consists of, the table does not say: it is no cell that can be measured again.
        assert workload_from_words(**cell.asked).key == mine.workload.key and cell.incomplete
        assert cell.total is not None and cell.total.base("ios") == mine.ios


def test_metrics_are_what_prometheus_reads(store: str, report: Report) -> None:
    found = {f.name: f for f in text_string_to_metric_families(export("openmetrics", (), store))}
    cell = report.analysis.cells[0]
    (sample,) = found["strata_cell_iops"].samples
    assert sample.value == cell.iops.value and sample.labels["workload"] == cell.workload.key
    quantiles = found["strata_cell_latency_quantile_seconds"].samples
    assert {s.labels["quantile"]: s.value * 1e9 for s in quantiles} == {
        f"{float(p) / 100:.10g}": pytest.approx(e.value) for p, e in cell.latency_ns.items()
    }


def test_another_program_reads_the_distributions(store: str, report: Report, tmp_path: Path) -> None:
    (tmp_path / "t.hlog").write_text(export("hdr", (), store))
    reader = HistogramLogReader(str(tmp_path / "t.hlog"), HdrHistogram(1, 3600 * 10**9, 3))
    counts = []
    while (one := reader.get_next_interval_histogram()) is not None:
        counts.append(one.get_total_count())
    assert counts == [
        side.ops for r in report.results if r.result is not None for side in (r.result.read, r.result.write) if side.ops
    ]


def test_what_is_exported_for_fio_is_imported_as_the_same_cells(store: str, report: Report) -> None:
    text = export("fio", (), store).encode()
    found = read_result(Source("x", len(text), lambda: iter((text,))))
    measured = [r.result for r in report.results if r.kind == "measure" and r.result is not None]
    assert len(found.cells) == len(measured)
    for cell, result in zip(found.cells, measured, strict=True):
        for name, side in (("read", result.read), ("write", result.write)):
            told = cell.sides[name]
            assert (told.base("ios"), told.base("bytes")) == (side.ops, side.bytes)
            assert told.base("time.mean") == pytest.approx(side.service_sum_ns / side.ops)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "=cmd|' /C calc'!A0"])
def test_no_text_is_a_formula(text: str) -> None:
    assert str(plain(text)).startswith("'") and plain(-1.5) == -1.5 and plain("a=1") == "a=1"


@pytest.mark.parametrize(("form", "table"), [("xls", "cells"), ("csv", "cell"), ("hdr", "rounds"), ("fio", "counters")])
def test_what_there_is_not_is_named_with_what_there_is(store: str, form: str, table: str) -> None:
    with pytest.raises(UsageError) as told:
        export(form, (), store, table)
    assert "choose one of" in told.value.render()


def test_every_form_says_what_it_is() -> None:
    assert [f.name for f in forms()] == sorted(f.name for f in forms()) and all(f.title for f in forms())
