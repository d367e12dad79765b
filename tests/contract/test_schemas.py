"""Every document that a command really prints fits the schema that is published of it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import ROOT, strata
from tiers import rest_in_ci

from strata.app import schemas
from strata.cli.lab_door import documents
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
    "runs": ("runs",),
    "baselines": ("baseline", "list"),
    "labs": ("lab", "list", "--all"),
}
STORED = ("import", "matrix-plan", "measure", "runs", "baselines")
KNOWN = schemas.names(documents())


@pytest.mark.parametrize("name", PRINTED)
def test_a_document_fits_its_schema_and_a_spoiled_one_does_not(name: str, tmp_path: Path) -> None:
    words = [str(word).format(dir=tmp_path) for word in PRINTED[name]]
    store = ("--store", f"sqlite:///{tmp_path}/s.db") if name in STORED else ()
    done = strata(*words, *store, "--json")
    assert done.stdout, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    published = json.loads(schemas.schema(name, documents()))
    assert value["schema"] == published["title"] == f"strata.{name}/1"
    assert problems(value, published, published) == []
    assert problems({**value, "schema": "strata.other/1"}, published, published)
    key = next(key for key in published["required"] if key != "schema")
    assert problems({k: v for k, v in value.items() if k != key}, published, published)


@pytest.fixture(scope="module")
def listed() -> list[str]:
    return strata("schema").stdout.splitlines()


@pytest.mark.parametrize("name", rest_in_ci(KNOWN, every_day=10))
def test_every_schema_is_printed_by_its_name_however_it_is_said(name: str, listed: list[str]) -> None:
    text = schemas.schema(name, documents())
    made = json.loads(text)
    assert made["$schema"].endswith("2020-12/schema") and made["properties"]["schema"] == {"const": f"strata.{name}/1"}
    done = strata("schema", f"strata.{name}/1")
    assert json.loads(done.stdout) == made and f"strata.{name}/1" in listed


def test_no_document_is_without_a_schema() -> None:
    """What the guide of JSON has, which a tidy test holds against the code."""
    guide = (ROOT / "docs" / "guide" / "json.md").read_text()
    assert {f"strata.{name}/1" for name in KNOWN} == set(re.findall(r"`(strata\.[a-z-]+/1)`", guide))


def test_a_document_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="there is no such document"):
        schemas.schema("reports")
