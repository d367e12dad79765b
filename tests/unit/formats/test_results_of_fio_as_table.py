"""A result of fio 3.33, as it wrote it, held against the laws; and what is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from results_of import read_bytes

from strata.formats.results import Misread
from strata.formats.results._table import table_of as table_of_import
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
