"""The store of many cells, small: every question is answered by an index. Times are `make bench-store`'s matter."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from filling import CELLS, ROUNDS, fill, matrix
from postgres_server import server
from sqlalchemy import text
from sqlalchemy.dialects import postgresql, sqlite

from strata.app.compare import compare_runs
from strata.model.compared import Change
from strata.store import Store, open_store
from strata.store.recall import figures_query, history_query

RUNS = 15


@pytest.fixture(scope="module")
def in_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(str(tmp_path_factory.mktemp("many") / "s.db")) as store:
        fill(store, RUNS)
        yield store


def plan(store: Store, query, dialect, explain: str) -> str:
    words = str(query.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
    with store._engine.connect() as connection:
        return "\n".join(str(r[-1]) for r in connection.execute(text(f"{explain} {words}")))


def test_what_was_filled_is_what_a_store_holds(in_sqlite: Store) -> None:
    names = [h.id for h in in_sqlite.heads(20)]
    assert len(names) == RUNS
    a, b = (in_sqlite.load_run(n) for n in names[:2])
    assert a.plan.cells == matrix().plan.cells and a.created_unix_ns > b.created_unix_ns
    assert len(in_sqlite.figures(a.id)) == CELLS * ROUNDS
    told = compare_runs(a.id, b.id, str(in_sqlite._engine.url.database))
    assert len(told.cells) == CELLS
    assert told.counts[Change.SLOWER] + told.counts[Change.FASTER] == 0
    assert len(in_sqlite.history(in_sqlite.series()[3])) == RUNS * ROUNDS


def test_sqlite_answers_by_indices(in_sqlite: Store) -> None:
    for query, index in (
        (history_query(in_sqlite.series()[3], None), "ix_figures_series_id"),
        (figures_query("run-000003"), "PRIMARY KEY"),
    ):
        told = plan(in_sqlite, query, sqlite.dialect(), "EXPLAIN QUERY PLAN")
        assert index in told and "SCAN" not in told, told


@pytest.mark.ci
@pytest.mark.postgres
def test_postgresql_answers_by_indices() -> None:
    with server() as running, open_store(running.url()) as store:
        fill(store, RUNS)
        with store._engine.begin() as connection:
            connection.execute(text("ANALYZE"))
        for query, index in (
            (history_query(store.series()[3], None), "ix_figures_series_id"),
            (figures_query("run-000003"), "pk_figures"),
        ):
            told = plan(store, query, postgresql.dialect(), "EXPLAIN")
            assert index in told and "Seq Scan on figures" not in told, told
