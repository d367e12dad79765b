"""Databases that hold things of others: no table is made beside them, and nothing of theirs acts when we write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from postgres_server import Server, server
from sqlalchemy import create_engine, inspect, text

from strata.errors import StoreError
from strata.store import open_store
from strata.store.location import server_url

THINGS_IN_A_SERVER = {
    "schema elsewhere": "CREATE SCHEMA elsewhere",
    "table elsewhere.t": "CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.t (i int)",
    "table t": "CREATE TABLE t (i int)",
    "view v": "CREATE VIEW v AS SELECT 1 AS i",
    "materialized view m": "CREATE MATERIALIZED VIEW m AS SELECT 1 AS i",
    "sequence s": "CREATE SEQUENCE s",
    "function f()": "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "type e": "CREATE TYPE e AS ENUM ('a')",
    "type d": "CREATE DOMAIN d AS int CHECK (VALUE > 0)",
    "type c": "CREATE TYPE c AS (i int)",
    "large object": "SELECT lo_create(0)",
    "publication p": "CREATE PUBLICATION p",
}
THINGS_IN_A_FILE = {
    "view v": "CREATE VIEW v AS SELECT 1",
    "table t": "CREATE TABLE t (i)",
    "user_version 7": "PRAGMA user_version = 7",
    "application_id 99": "PRAGMA application_id = 99",
}
ACTS = "CREATE TRIGGER x AFTER INSERT ON runs BEGIN DELETE FROM baselines; END"


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server() as one:
        yield one


def does(url: str, statements: str) -> list[str]:
    """Carries them out; then the names of all tables."""
    address = server_url(url)
    assert address is not None
    engine = create_engine(address)
    with engine.begin() as connection:
        for one in filter(None, statements.split("; ")):
            connection.execute(text(one))
        names = inspect(connection).get_table_names()
    engine.dispose()
    return names


@pytest.mark.postgres
def test_no_table_is_made_beside_anything_in_a_server(running: Server) -> None:
    for thing, made in THINGS_IN_A_SERVER.items():
        url = running.url()
        before = does(url, made)
        with pytest.raises(StoreError) as e:
            open_store(url)
        assert thing in e.value.why and "createdb" in e.value.hint, e.value.render()
        assert does(url, "") == before


@pytest.mark.postgres
def test_an_extension_is_nothing_of_others_and_a_store_that_is_there_goes_on_beside_a_view(running: Server) -> None:
    url = running.url()
    does(url, "CREATE EXTENSION IF NOT EXISTS plpgsql")
    open_store(url).close()
    does(url, "CREATE VIEW mine AS SELECT id FROM runs")
    open_store(url).close()
    does(url, "CREATE RULE r AS ON INSERT TO runs DO ALSO DELETE FROM baselines")
    with pytest.raises(StoreError, match="rule r"):
        open_store(url)


@pytest.mark.parametrize("thing", THINGS_IN_A_FILE)
def test_no_table_is_made_beside_anything_in_a_file(tmp_path: Path, thing: str) -> None:
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute(THINGS_IN_A_FILE[thing])
    before = path.read_bytes()
    with pytest.raises(StoreError) as e:
        open_store(str(path))
    assert thing in e.value.why and path.read_bytes() == before, e.value.render()


def test_a_store_with_a_trigger_of_somebody_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "ours.db"
    open_store(str(path)).close()
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute(ACTS)
    with pytest.raises(StoreError, match="trigger x"):
        open_store(str(path))


def test_a_store_with_a_view_of_somebody_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "ours.db"
    open_store(str(path)).close()
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE VIEW mine AS SELECT id FROM runs")
    open_store(str(path)).close()
