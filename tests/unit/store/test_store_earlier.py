"""Stores that earlier versions wrote (tests/data/store): every run and baseline in them opens, and means the same."""

from __future__ import annotations

import json
import lzma
import re
import sqlite3
import zlib
from pathlib import Path

import pytest
from invoked import strata
from tiers import rest_in_ci

from strata.app.compare import compare_runs
from strata.app.diagnose import unfinished
from strata.app.kept import list_runs, load_kept, load_report
from strata.model.matrix import MatrixResult
from strata.model.run import Label, RunStatus
from strata.run.judge import done_orders
from strata.store import open_store
from strata.store.schema import HEAD

DUMPS = sorted((Path(__file__).parents[2] / "data" / "store").glob("*.sql.xz"))
STOPPED, LAYERS, MATRIX, ENDPOINT = (
    "20261123-044403-fc53", "20261123-044400-9643", "20261123-044357-1479", "20261123-044355-37c4",
)  # fmt: skip


def opened(dump: Path, path: Path) -> str:
    with sqlite3.connect(path) as db:
        db.executescript(lzma.decompress(dump.read_bytes()).decode())
        db.create_function("deflated", 1, lambda text: zlib.compress(text.encode(), 1))
        for table in ("cells", "matrices"):
            db.execute(f"UPDATE {table} SET result = deflated(result)")
    db.close()
    return str(path)


@pytest.fixture
def store(tmp_path: Path) -> str:
    """The one of 2026-11-23."""
    return opened(DUMPS[0], tmp_path / "s.db")


def ask(store: str, *words: str, code: int = 0) -> str:
    done = strata(*words, "--store", store)
    assert done.returncode == code, (words, done.stderr)
    return done.stdout


@pytest.mark.parametrize("dump", rest_in_ci(DUMPS, every_day=1), ids=lambda path: path.name)
def test_every_run_is_reported_and_compared_and_every_baseline_listed(dump: Path, tmp_path: Path) -> None:
    store = opened(dump, tmp_path / "s.db")
    runs = json.loads(ask(store, "runs", "--demos", "--json"))["runs"]
    assert {run["status"] for run in runs} == {"done", "stopped"} and len(runs) >= 4
    for run in runs:
        stopped = run["status"] == "stopped"
        text = ask(store, "report", run["id"], code=4 if stopped else 0)
        told = ask(store, "report", run["id"], "--json", code=4 if stopped else 0)
        assert stopped or (run["layers"][0] in text and json.loads(told)["schema"].startswith("strata."))
    (interrupted,) = [run for run in runs if run["status"] == "stopped"]
    (whole,) = [r for r in runs if r["layers"] == interrupted["layers"] and r["status"] == "done"]
    compared = json.loads(ask(store, "compare", whole["id"], interrupted["id"], "--anyway", "--json"))
    assert [cell["workload_key"] for cell in compared["cells"]] == whole["workloads"]
    (baseline,) = json.loads(ask(store, "baseline", "list", "--json"))["baselines"]
    assert (baseline["name"], baseline["runs"]) == ("main", [whole["id"]])
    assert whole["id"] in ask(store, "baseline", "show", "main")
    assert json.loads(ask(store, "history", "*", "--demos", "--json"))["cells"]


def test_the_newest_dump_is_of_the_schema_of_today() -> None:
    """A change of the schema needs a store as the version before it wrote it; README.md there says how one is made."""
    text = lzma.decompress(DUMPS[-1].read_bytes()).decode()
    assert re.findall(r'INSERT INTO "?alembic_version"? VALUES\(\'(\d+)\'\)', text) == [HEAD]


def test_its_runs_are_listed_and_open_as_what_they_are(store: str) -> None:
    heads, verdicts = list_runs(9, store)
    assert [(h.id, h.status) for h in heads] == [
        (STOPPED, RunStatus.STOPPED), (LAYERS, RunStatus.DONE), (MATRIX, RunStatus.DONE), (ENDPOINT, RunStatus.DONE),
    ]  # fmt: skip
    assert set(verdicts) == {LAYERS, ENDPOINT}
    one = load_report(ENDPOINT, store)
    assert one.run.label == Label(name="rack 7", note="new disk")
    assert one.analysis.cells[0].iops.value == pytest.approx(one.results[0].result.iops)  # type: ignore[union-attr]
    layers = load_report(LAYERS, store)
    assert [(r.order, r.round) for r in layers.results] == [(0, 0), (1, 1)] and layers.run.data is not None
    matrix = load_kept(MATRIX, store)
    assert isinstance(matrix, MatrixResult) and matrix.cells[0].iops is not None
    with open_store(store) as kept:
        assert kept.matrix(MATRIX) == matrix, "as it was said then, not worked out again"


def test_it_is_compared_gated_and_remembered(store: str) -> None:
    same = compare_runs(LAYERS, STOPPED, store, anyway=True)
    assert len(same.cells) == 1
    with open_store(store) as kept:
        (baseline,) = kept.baselines()
        assert (baseline.name, baseline.runs) == ("main", (LAYERS,))
        assert {f.run_id for f in kept.figures(LAYERS)} == {LAYERS}


def test_what_was_stopped_goes_on_where_it_stood(store: str) -> None:
    run = unfinished(None, store)
    assert run.id == STOPPED and run.data is not None
    with open_store(store) as kept:
        cells = kept.cells(run.id)
        assert done_orders(cells) == {0, 1} and len(run.plan.steps) == 20
        # It is written as it was read.
        kept.update_run(run)
        kept.save_cell(run.id, cells[1])
        assert kept.load_run(run.id) == run and kept.cells(run.id) == cells
