"""The same store on a real PostgreSQL server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
import store_samples as sample
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from postgres_server import Server, server
from sqlalchemy import create_engine, text

from strata.errors import StoreError, UsageError
from strata.store import open_store, schema
from strata.store.location import server_url
from strata.store.tables import Base

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server() as one:
        yield one


@pytest.fixture
def url(running: Server) -> str:
    return running.url()


def test_what_was_saved_is_read_by_another_opening(url: str) -> None:
    run, outcome = sample.run(), sample.outcome()
    with open_store(url) as store:
        store.create_run(run)
        for n in range(3):
            store.save_cell(run.id, sample.cell(n))
        store.save_cell(run.id, sample.cell(1, ops=7))
        store.save_outcome(run.id, *outcome)
    with open_store(url) as store:
        assert store.load_run("20260301") == run
        assert store.cells(run.id) == (sample.cell(0), sample.cell(1, ops=7), sample.cell(2))
        assert store.outcome(run.id) == outcome
        assert [h.id for h in store.heads(5)] == [run.id]
        assert [(f.order, f.ops) for f in store.figures(run.id)] == [(0, 1000), (1, 7), (2, 1000)]
        assert len(store.history(store.series()[0])) == 3


def test_a_run_of_that_id_and_one_that_is_not_there_are_refused(url: str) -> None:
    with open_store(url) as store:
        store.create_run(sample.run())
        with pytest.raises(StoreError, match="a run with that id exists"):
            store.create_run(sample.run())
        with pytest.raises(StoreError, match="no run has this id"):
            store.save_cell("nobody", sample.cell())
        with pytest.raises(UsageError):
            store.load_run("nobody")


def test_migrations_give_the_tables_of_the_models(url: str) -> None:
    with open_store(url) as store, store._engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_up_down_and_up_again_keeps_what_was_measured(url: str) -> None:
    from migrating import move

    with open_store(url) as store:
        store.create_run(sample.run())
        store.save_cell(sample.run().id, sample.cell(0))
        before = store.figures(sample.run().id)
        move(store._engine, "0001")
        move(store._engine, "head")
        assert store.figures(sample.run().id) == before
        assert store.cells(sample.run().id) == (sample.cell(0),)


def test_a_database_of_somebody_else_is_left_as_it_is(url: str) -> None:
    engine = create_engine(server_url(url) or "")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE accounts (id INTEGER)"))
    with pytest.raises(StoreError, match="that are not Strata's"):
        open_store(url)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).all() == [
            ("accounts",)
        ]
    engine.dispose()


def test_a_store_of_a_newer_version_is_left_as_it_is(url: str) -> None:
    with open_store(url) as store, store._engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0999'"))
    with pytest.raises(StoreError, match="0999 is newer"):
        open_store(url)


@pytest.mark.ci
def test_many_processes_may_make_the_store_at_once(url: str) -> None:
    code = (
        "import sys; import store_samples as s; from strata.store import open_store\n"
        "sys.stdin.readline()\n"
        "with open_store(sys.argv[1]) as store:\n"
        "    store.create_run(s.run(sys.argv[2])); store.save_cell(sys.argv[2], s.cell())\n"
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, url, f"run-{n}"], env=sample.child_environment(), stdin=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )
        for n in range(3)
    ]  # fmt: skip
    said = [child.communicate("go\n", timeout=120)[1] for child in children]
    assert [c.returncode for c in children] == [0] * 3, said
    with open_store(url) as store:
        assert len(store.heads(10)) == 3
        assert len(store.series()) == 1
        assert len(store.history(store.series()[0])) == 3


def test_a_password_is_never_told() -> None:
    with pytest.raises(StoreError) as caught:
        open_store("postgresql://u:secret@127.0.0.1:1/nothing")
    assert "secret" not in caught.value.render()
    assert "127.0.0.1" in caught.value.headline and caught.value.hint


def test_a_server_that_went_away_is_said() -> None:
    with server() as other:
        store = open_store(other.url())
        store.create_run(sample.run())
        other.stop()
        with store, pytest.raises(StoreError) as caught:
            store.heads(1)
    assert caught.value.hint


def test_the_known_head_is_that_of_the_database(url: str) -> None:
    with open_store(url) as store, store._engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == schema.HEAD
