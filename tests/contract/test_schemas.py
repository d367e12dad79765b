"""Every document that a command really prints fits the schema that is published of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import ROOT, strata

from strata.app import schemas
from strata.errors import UsageError

sys.path.insert(0, str(ROOT / "tests" / "unit" / "report"))
from json_schema import problems

DATA = ROOT / "tests" / "data"
PRINTED = {
    "check": ("check", DATA / "laws" / "ladder.csv"),
    "import": ("import", "--dry-run", DATA / "imports" / "fio-plus.json", DATA / "imports" / "pdh.csv"),
    "measure": ("measure", "null:", "--rw", "randrw", "--runtime", "100ms", "--ramp-time", "0ms"),
    "plan": ("plan", "{dir}"),
    "survey": ("survey", "{dir}"),
    "matrix-plan": ("plan", "{dir}", "--matrix", "small"),
}


@pytest.mark.parametrize("name", PRINTED)
def test_a_document_fits_its_schema_and_a_spoiled_one_does_not(name: str, tmp_path: Path) -> None:
    words = [str(word).format(dir=tmp_path) for word in PRINTED[name]]
    store = ("--store", f"sqlite:///{tmp_path}/s.db") if name in ("import", "matrix-plan", "measure") else ()
    done = strata(*words, *store, "--json")
    assert done.stdout, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    published = json.loads(schemas.schema(name))
    assert value["schema"] == published["title"] == f"strata.{name}/1"
    assert problems(value, published, published) == []
    assert problems({**value, "schema": "strata.other/1"}, published, published)
    key = next(key for key in published["required"] if key != "schema")
    assert problems({k: v for k, v in value.items() if k != key}, published, published)


@pytest.mark.parametrize("name", schemas.names())
def test_every_schema_is_printed_by_its_name_however_it_is_said(name: str) -> None:
    text = schemas.schema(name)
    made = json.loads(text)
    assert made["$schema"].endswith("2020-12/schema") and made["properties"]["schema"] == {"const": f"strata.{name}/1"}
    done = strata("schema", f"strata.{name}/1")
    assert json.loads(done.stdout) == made and f"strata.{name}/1" in strata("schema").stdout.splitlines()


def test_a_document_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="there is no such document"):
        schemas.schema("reports")
