"""A store that an earlier version wrote (tests/data/store): every run and baseline in it opens, and means the same."""

from __future__ import annotations

import lzma
import sqlite3
import zlib
from pathlib import Path

import pytest

from strata.app.compare import compare_runs
from strata.app.diagnose import unfinished
from strata.app.kept import list_runs, load_kept, load_report
from strata.model.matrix import MatrixResult
from strata.model.run import Label, RunStatus
from strata.run.judge import done_orders
from strata.store import open_store

DUMP = Path(__file__).parents[2] / "data" / "store" / "2026-11-23.sql.xz"
STOPPED, LAYERS, MATRIX, ENDPOINT = (
    "20261123-044403-fc53", "20261123-044400-9643", "20261123-044357-1479", "20261123-044355-37c4",
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = tmp_path / "s.db"
    with sqlite3.connect(path) as db:
        db.executescript(lzma.decompress(DUMP.read_bytes()).decode())
        db.create_function("deflated", 1, lambda text: zlib.compress(text.encode(), 1))
        for table in ("cells", "matrices"):
            db.execute(f"UPDATE {table} SET result = deflated(result)")
    db.close()
    return str(path)


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
