"""What is remembered over runs: by columns and indices, the same for results that an earlier version saved."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
import store_samples as sample
from migrating import move
from sqlalchemy.dialects import sqlite

from strata.errors import StoreError, UsageError
from strata.model import histogram
from strata.model.remembered import RunHead
from strata.model.result import CellResult
from strata.model.run import Label
from strata.model.stack import Layer
from strata.model.step_figures import GRID
from strata.store import open_store, recall
from strata.store.recall import figures_query, history_query


def measured(order: int, run_ops: int = 1000) -> CellResult:
    """A cell with a histogram that can be read: 1..1000 µs, so that p50 is half of a millisecond."""
    made = sample.cell(order, ops=run_ops)
    assert made.result is not None
    payload = histogram.from_bins({i * 1000: 1 for i in range(1, 1001)})
    read = made.result.read.model_copy(update={"service_time": payload, "service_sum_ns": run_ops * 500_500})
    return made.model_copy(update={"result": made.result.model_copy(update={"read": read})})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "strata.db"


def test_the_figures_of_a_step(path):
    with open_store(str(path)) as store:
        store.create_run(sample.run(created=7))
        store.save_cell(sample.run().id, measured(3))
        (one,) = store.figures(sample.run().id)
    assert (one.order, one.ops, one.iops, one.created_unix_ns) == (3, 1000, 500.0, 7)
    assert one.mean_ns == 500_500
    assert one.p50_ns == pytest.approx(500_000, rel=0.002) and one.p99_ns == pytest.approx(990_000, rel=0.002)
    assert len(one.packed) == 4 * len(GRID)
    assert one.identity == "h · volume · null:"


def test_the_times_of_the_measuring_steps_alone(path):
    with open_store(str(path)) as store:
        store.create_run(sample.run())
        for order, kind in enumerate(("measure", "confirm", "measure")):
            store.save_cell(sample.run().id, measured(order).model_copy(update={"kind": kind, "round": order}))
        figures, (times,) = store.figures(sample.run().id), store.times([sample.run().id])
    kept = [((f.layer, f.workload_key), f.round, f.mean_ns) for f in figures if f.kind == "measure"]
    assert list(zip(*times, strict=True)) == kept and list(times.rounds) == [0, 2]


def test_of_a_run_in_brief_is_what_the_whole_run_says(path):
    with open_store(str(path)) as store:
        whole = sample.run().model_copy(update={"label": Label(name="mine")})
        store.create_run(whole)
        brief = store.load_brief(whole.id[:-1])
        assert (brief.id, brief.label, brief.environment) == (whole.id, whole.label, whole.environment)
        with pytest.raises(UsageError, match="no run '"):
            store.load_brief("no")


def test_several_runs_in_brief_are_each_of_them_in_brief(path, monkeypatch):
    monkeypatch.setattr(recall, "PARAMETERS_MOST", 2)
    names = [f"{n}-run" for n in range(5)]
    with open_store(str(path)) as store:
        for name in names:
            plan = sample.run().plan.model_copy(update={"id": name})
            store.create_run(sample.run().model_copy(update={"id": name, "plan": plan}))
        asked = ["3-run", " 0-run ", "4", "1-run", "0-run"]
        assert store.load_briefs(asked) == tuple(map(store.load_brief, asked)) and store.load_briefs([]) == ()
        with pytest.raises(UsageError, match="no run 'no'"):
            store.load_briefs(["1-run", "no"])


def test_times_that_no_measurement_gives_are_refused(path):
    with open_store(str(path)) as store:
        store.create_run(sample.run())
        store.save_cell(sample.run().id, measured(0))
        with store._engine.begin() as sql:
            sql.exec_driver_sql("UPDATE figures SET mean_ns = 9e999")
        with pytest.raises(StoreError, match="mean_ns that is not finite"):
            store.times([sample.run().id])


@pytest.mark.parametrize(("change", "why"), [
    ("UPDATE figures SET series_id = 99", "of no series"), ("UPDATE figures SET series_id = 'x'", "without a number"),
    ("UPDATE series SET layer = x'00'", "layer of the wrong type"),
])  # fmt: skip
def test_times_of_no_series_are_refused(path, change: str, why: str):
    with open_store(str(path)) as store:
        store.create_run(sample.run())
        store.save_cell(sample.run().id, measured(0))
        # Another program does not hold to the keys.
        with closing(sqlite3.connect(path)) as sql, sql:
            sql.execute(change)
        with pytest.raises(StoreError, match=why):
            store.times([sample.run().id])


def test_a_step_that_is_measured_again_and_fails_leaves_no_figures(path):
    with open_store(str(path)) as store:
        store.create_run(sample.run())
        store.save_cell(sample.run().id, measured(0))
        store.save_cell(sample.run().id, measured(0).model_copy(update={"error": "lost"}))
        assert store.figures(sample.run().id) == ()


def test_a_history_is_one_series_oldest_first(path):
    with open_store(str(path)) as store:
        for n, created in enumerate((30, 10, 20)):
            store.create_run(sample.run(f"run-{n}", created=created))
            store.save_cell(f"run-{n}", measured(0, run_ops=created))
        (series,) = store.series()
        assert series.name == f"disk/{sample.WORKLOAD.key}"
        assert [f.ops for f in store.history(series)] == [10, 20, 30]
        assert [f.ops for f in store.history(series, newest=2)] == [20, 30]


def test_heads_say_what_the_runs_say_and_follow_them(path):
    run = sample.run()
    with open_store(str(path)) as store:
        store.create_run(run)
        assert store.heads(3) == (RunHead.of(run),)
        later = run.model_copy(update={"message": "half"})
        store.update_run(later)
        assert store.heads(3) == (RunHead.of(later),)


def test_what_an_earlier_version_saved_is_remembered_alike(path):
    with open_store(str(path)) as store:
        store.create_run(sample.run(created=5))
        for n in range(3):
            store.save_cell(sample.run().id, measured(n))
        before = store.figures(sample.run().id), store.heads(5), store.series()
        move(store._engine, "0001")
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'figures'").fetchone() == (0,)
    db.close()
    with open_store(str(path)) as store:
        assert (store.figures(sample.run().id), store.heads(5), store.series()) == before
        store.save_cell(sample.run().id, measured(9))
        assert len(store.figures(sample.run().id)) == 4


def test_a_damaged_result_does_not_stop_the_migration(path):
    with open_store(str(path)) as store:
        store.create_run(sample.run())
        for n in range(2):
            store.save_cell(sample.run().id, measured(n))
        move(store._engine, "0001")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE cells SET result = x'00' WHERE step_order = 0")
    db.close()
    with open_store(str(path)) as store:
        assert [f.order for f in store.figures(sample.run().id)] == [1]


def test_baselines_have_versions_and_the_newest_is_in_force(path):
    with open_store(str(path)) as store:
        store.save_baseline("main", ["a"], 1, "", new=True)
        store.save_baseline("main", ["b", "c"], 2, "kernel", new=False)
        assert store.baseline("main").runs == ("b", "c")
        assert [b.version for b in store.baselines()] == [2, 1]
        with pytest.raises(UsageError, match="there is already a baseline"):
            store.save_baseline("main", ["a"], 1, "", new=True)
        with pytest.raises(UsageError, match="there is no baseline"):
            store.save_baseline("other", ["a"], 1, "", new=False)
        with pytest.raises(UsageError) as caught:
            store.baseline("mian")
    assert "main" in caught.value.hint


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (lambda series: history_query(series, None), "ix_figures_series_id"),
        (lambda series: history_query(series, 100), "ix_figures_series_id"),
        (lambda series: figures_query("run-1"), "PRIMARY KEY"),
    ],
)
def test_no_question_reads_a_table_from_end_to_end(path, query, index):
    with open_store(str(path)) as store:
        store.create_run(sample.run("run-1"))
        store.save_cell("run-1", measured(0))
        asked = query(store.series()[0])
        words = str(asked.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}))
        with store._engine.connect() as connection:
            plan = " ; ".join(r[3] for r in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {words}"))
    assert index in plan, plan
    assert "SCAN" not in plan, plan


@pytest.mark.parametrize(
    ("endpoint", "engine", "identity"),
    [
        ("null:", "native", "h · volume · null:"),
        ("block:/dev/sda", "native", "h · volume · block:/dev/sda"),
        ("file:/mnt/data/strata-1.dat", "native", "h · volume · file:/mnt/data"),
        ("file:///strata-1.dat", "native", "h · volume · file:/"),
        ("nbd://127.0.0.1:0/strata", "native", "h · volume · own server, strata"),
        ("nbd://store:10809/e", "native", "h · volume · nbd://store:10809/e"),
        ("null:", "fio", "h · volume · null: · fio"),
    ],
)
def test_a_place_is_named_alike_by_this_version_and_by_the_migration(path, endpoint, engine, identity):
    run = sample.run()
    stack = run.plan.stack.model_copy(update={"layers": (Layer(name="disk", endpoint=endpoint),)})
    run = run.model_copy(
        update={
            "plan": run.plan.model_copy(update={"stack": stack}),
            "environment": run.environment.model_copy(update={"engine": {"name": engine}}),
        }
    )
    with open_store(str(path)) as store:
        store.create_run(run)
        store.save_cell(run.id, measured(0))
        assert [s.identity for s in store.series()] == [identity]
        move(store._engine, "0001")
    with open_store(str(path)) as store:
        assert [s.identity for s in store.series()] == [identity]
