from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
import store_samples as sample
from sqlalchemy import event

from strata.errors import StoreError, UsageError
from strata.model.run import RunStatus
from strata.store import open_store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "strata.db"


@pytest.fixture
def store(path):
    with open_store(f"sqlite:///{path}") as opened:
        yield opened


def reopened(path):
    return open_store(str(path))


def test_a_run_comes_back_as_it_was(store, path):
    run = sample.run()
    store.create_run(run)
    with reopened(path) as second:
        assert second.load_run(run.id) == run


def test_a_second_run_of_the_same_id_is_refused_and_the_first_stays(store):
    store.create_run(sample.run(created=1))
    with pytest.raises(StoreError, match="a run with that id exists"):
        store.create_run(sample.run(created=2))
    assert store.load_run("20260301-120000-abcd").created_unix_ns == 1


def test_update_replaces_the_run_and_keeps_its_cells(store):
    store.create_run(sample.run())
    store.save_cell(sample.run().id, sample.cell(0))
    store.update_run(sample.run(status=RunStatus.DONE))
    assert store.load_run(sample.run().id).status is RunStatus.DONE
    assert store.latest(RunStatus.DONE) is not None
    assert len(store.cells(sample.run().id)) == 1


def test_update_of_an_unknown_run_is_refused(store):
    with pytest.raises(UsageError, match="no run '"):
        store.update_run(sample.run())
    assert store.list_runs(10) == ()


def test_a_matrix_comes_back_as_it_was_said_and_not_when_it_is_damaged(store, path):
    store.create_run(sample.run())
    assert store.matrix(sample.run().id) is None
    with pytest.raises(StoreError, match="no run has this id"):
        store.save_matrix(sample.matrix("another"))
    said = sample.matrix(sample.run().id)
    store.save_matrix(said)
    assert store.matrix(sample.run().id) == said
    store.create_run(sample.run("20260301-120000-ffff"))
    with sqlite3.connect(path) as raw:
        raw.execute("INSERT INTO matrices SELECT '20260301-120000-ffff', result FROM matrices")
    assert store.matrix("20260301-120000-ffff") is None
    # Its visits are the truth: what cannot be read is worked out again, and is no error.
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE matrices SET result = x'00'")
    assert store.matrix(sample.run().id) is None


def test_cells_come_back_in_the_order_of_steps(store, path):
    store.create_run(sample.run())
    cells = [sample.cell(n) for n in (2, 0, 11, 1)]
    for cell in cells:
        store.save_cell(sample.run().id, cell)
    with reopened(path) as second:
        assert second.cells(sample.run().id) == tuple(sorted(cells, key=lambda c: c.order))


def test_saving_a_step_twice_replaces_it(store):
    store.create_run(sample.run())
    store.save_cell(sample.run().id, sample.cell(0, error="stopped after 0.2 s"))
    store.save_cell(sample.run().id, sample.cell(0, ops=4000))
    (kept,) = store.cells(sample.run().id)
    assert (kept.error, kept.result.ops) == (None, 4000)


def test_a_failed_step_without_a_result_is_kept(store):
    store.create_run(sample.run())
    failed = sample.cell(0).model_copy(update={"result": None, "error": "connection refused"})
    store.save_cell(sample.run().id, failed)
    assert store.cells(sample.run().id) == (failed,)


def test_a_cell_needs_its_run(store):
    with pytest.raises(StoreError, match="no run has this id"):
        store.save_cell("nobody", sample.cell(0))
    assert store.cells("nobody") == ()


def test_a_value_that_could_not_be_read_back_is_refused_before_it_is_kept(store):
    store.create_run(sample.run())
    good = sample.cell(0)
    series = good.counters[0].model_copy(update={"values": (math.inf,) * 8})
    with pytest.raises(StoreError, match="cannot be loaded again"):
        store.save_cell(sample.run().id, good.model_copy(update={"counters": (series,)}))
    assert store.cells(sample.run().id) == ()


def test_runs_are_listed_newest_first(store):
    for n in (3, 1, 2):
        store.create_run(sample.run(f"run-{n}", created=n))
    assert [r.id for r in store.list_runs(2)] == ["run-3", "run-2"]
    assert store.list_runs(0) == ()


def test_the_latest_run_of_some_statuses(store):
    assert store.latest() is None
    store.create_run(sample.run("a", 1, RunStatus.STOPPED))
    store.create_run(sample.run("b", 2, RunStatus.RUNNING))
    store.create_run(sample.run("c", 3, RunStatus.DONE))

    def found(*status):
        run = store.latest(*status)
        return run and run.id

    assert found() == "c"
    assert found(RunStatus.STOPPED) == "a"
    assert found(RunStatus.RUNNING, RunStatus.STOPPED) == "b"
    assert found(RunStatus.FAILED) is None


def test_a_prefix_finds_its_run(store):
    for name in ("20260301-120000-abcd", "20260302-120000-abcd"):
        store.create_run(sample.run(name))
    assert store.load_run("20260302").id == "20260302-120000-abcd"


def test_a_prefix_of_several_runs_is_refused_with_their_names(store):
    names = [f"2026030{n}-120000-abcd" for n in range(1, 4)]
    for name in names:
        store.create_run(sample.run(name))
    with pytest.raises(UsageError) as caught:
        store.load_run("202603")
    assert sorted(caught.value.problems) == names


def test_a_whole_id_wins_over_a_longer_one_that_begins_so(store):
    for name in ("run-1", "run-10"):
        store.create_run(sample.run(name))
    assert store.load_run("run-1").id == "run-1"


@pytest.mark.parametrize("asked", ["", "  ", "%", "_", "RUN", "nobody"])
def test_what_names_no_run_is_refused_with_the_newest(store, asked):
    store.create_run(sample.run("run-1"))
    with pytest.raises(UsageError) as caught:
        store.load_run(asked)
    assert "run-1" in caught.value.hint


def test_an_outcome_comes_back_and_is_replaced(store, path):
    store.create_run(sample.run())
    run_id = sample.run().id
    assert store.outcome(run_id) is None
    store.save_outcome(run_id, *sample.outcome(0.5))
    store.save_outcome(run_id, *sample.outcome(0.9))
    assert store.verdicts([run_id, "nobody"]) == {run_id: sample.outcome(0.9)[1].verdict}
    with reopened(path) as second:
        assert second.outcome(run_id) == sample.outcome(0.9)
    with pytest.raises(StoreError):
        store.save_outcome("nobody", *sample.outcome())


def test_a_diagnosis_is_kept_beside_the_analysis_that_is_there(store, path):
    """After each experiment; the analysis may be a megabyte, and says the same."""
    store.create_run(sample.run())
    run_id = sample.run().id
    (analysis, _), (_, told) = sample.outcome(0.5), sample.outcome(0.9)
    with pytest.raises(StoreError, match="no analysis"):
        store.save_diagnosis(run_id, told)
    store.save_outcome(run_id, *sample.outcome(0.5))
    said = []
    event.listen(store._engine, "before_cursor_execute", lambda *call: said.append(call[2]))
    store.save_diagnosis(run_id, told)
    assert any("UPDATE outcomes" in one for one in said) and not any("analysis" in one for one in said)
    with reopened(path) as second:
        assert second.outcome(run_id) == (analysis, told)
        assert second.causes([run_id, "nobody"]) == {run_id: (told.verdict.kind, told.verdict.cause)}
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE outcomes SET cause = 'of-a-later-version'")
    assert store.causes([run_id]) == {}


def test_a_reader_reads_while_a_writer_is_at_work(store, path):
    store.create_run(sample.run())
    with reopened(path) as reader:
        store.save_cell(sample.run().id, sample.cell(0))
        assert len(reader.cells(sample.run().id)) == 1
        store.save_cell(sample.run().id, sample.cell(1))
        assert len(reader.cells(sample.run().id)) == 2


def test_a_commit_is_brought_to_the_disk(store):
    with store._engine.connect() as connection:
        pragmas = {
            p: connection.exec_driver_sql(f"PRAGMA {p}").scalar()
            for p in ("journal_mode", "synchronous", "foreign_keys")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_the_store_is_plain_sql_and_json(store, path):
    store.create_run(sample.run())
    store.save_cell(sample.run().id, sample.cell(3))
    store.close()
    with sqlite3.connect(path) as db:
        asked = "SELECT status, stack, json_extract(document, '$.plan.seed') FROM runs"
        assert db.execute(asked).fetchall() == [("running", "volume", 1)]
        assert db.execute("SELECT step_order, layer, iops FROM cells").fetchall() == [(3, "disk", 500.0)]
    db.close()


def test_close_leaves_one_file_and_may_be_repeated(store, path):
    store.create_run(sample.run())
    store.close()
    store.close()
    assert [p.name for p in path.parent.iterdir()] == ["strata.db"]


@pytest.mark.ci
def test_a_second_opening_in_one_process_leaves_the_first_its_locks(store, path):
    """Another process that opens and closes the store must not take itself for the last, and remove its log."""
    other = (
        f"from strata.store import open_store; s = open_store({str(path)!r}); print(len(s.list_runs(10))); s.close()"
    )

    def seen_elsewhere() -> int:
        asked = [sys.executable, "-c", other]
        return int(subprocess.run(asked, env=sample.child_environment(), check=True, capture_output=True).stdout)

    store.create_run(sample.run("first"))
    with reopened(path) as second:
        assert len(second.list_runs(10)) == 1
    assert seen_elsewhere() == 1
    assert path.with_name(path.name + "-wal").exists()
    store.create_run(sample.run("second"))
    assert seen_elsewhere() == 2
