"""What only reads the store loads only what reading takes: a list of runs is not worth the libraries that measure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from store import store_samples as sample
from tiers import rest_in_ci

from strata.app import names
from strata.app.kept import load_report
from strata.report.explained import explained
from strata.store import Store, open_store

LOADED = """
import json, sys
from strata.cli.main import app
app(json.loads(sys.argv[1]), standalone_mode=False)
print("loaded:", json.dumps(sorted(sys.modules)))
"""
HEAVY = {"numpy", "scipy", "rich.console", "jinja2", "pyroute2", "strata.engine", "strata.app.session"}


def loaded(words: list[str], store: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, json.dumps(words)],
        capture_output=True, text=True, check=True, env=os.environ | {"STRATA_STORE": str(store)},
    )  # fmt: skip
    return set(json.loads(done.stdout.rpartition("loaded:")[2]))


@pytest.mark.parametrize("words", rest_in_ci([["runs"], ["baseline", "list"]], every_day=1), ids=" ".join)
def test_a_list_loads_neither_the_engine_nor_the_numerical_libraries(words: list[str], tmp_path: Path) -> None:
    assert loaded(words, tmp_path / "s.db") & HEAVY == set()


def test_what_is_refused_before_it_is_measured_loads_no_numerical_library() -> None:
    """Nor does a measurement before its first I/O."""
    code = "import json, sys, strata.app.measure; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) & {"numpy", "scipy", "sqlalchemy", "rich.console"} == set()


@pytest.mark.ci
def test_one_cell_is_measured_and_stored_without_the_library_of_distributions(tmp_path: Path) -> None:
    words = ["measure", "null:1m", "--runtime", "50ms", "--ramp-time", "0", "--progress", "none"]
    # Nor what only layers need: it would come before the first I/O.
    assert loaded(words, tmp_path / "s.db") & {"scipy", "rich.console", "jinja2", "strata.app.diagnose"} == set()


def test_the_evidence_of_a_verdict_unpacks_no_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(str(tmp_path / "s.db")) as store:
        store.create_run(sample.run())
        store.save_outcome(sample.run().id, *sample.outcome())
    monkeypatch.setattr(Store, "cells", None)
    url = str(tmp_path / "s.db")
    assert explained(load_report(None, url, cells=False)).run == sample.run().id
    assert names.findings(url, sample.run().id) is not None
