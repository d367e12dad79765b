"""Databases that hold things of others: no table is made beside them, and nothing of theirs acts when we write."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import store_samples as sample
from hostile import ends_of
from postgres_server import Server, server
from pydantic import ValidationError
from sqlalchemy import create_engine, inspect, text

from strata.errors import RunFailed, StoreError, UsageError
from strata.host.clock import now_unix_ns
from strata.host.runlock import held
from strata.model.remembered import RunHead
from strata.model.run import RunStatus
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


NUMBER = "9" * 60
DEEP = "printf('%.*c', 100000, '[')"
OF_A_STORE = {
    "the name of a run": "UPDATE runs SET id = '../../victim'; UPDATE heads SET run_id = '../../victim'",
    "another name inside": "UPDATE runs SET document = replace(document, id, '../../victim')",
    "no JSON": "UPDATE runs SET document = '{'; UPDATE heads SET layers = '['",
    "a number for a text": "UPDATE runs SET document = 5; UPDATE heads SET layers = 5",
    "bytes for a text": "UPDATE runs SET document = x'ff00', stack = x'ff00'; UPDATE heads SET layers = x'ff00'",
    "deep": f"UPDATE runs SET document = {DEEP}; UPDATE heads SET layers = {DEEP}",
    "a status": "UPDATE runs SET status = 'odd', document = replace(document, '\"status\":\"', '\"status\":\"odd')",
    "a time": "UPDATE runs SET created_unix_ns = 'soon', document = replace(document, '_unix_ns\":', '_unix_ns\":-')",
    "a far year": f"UPDATE runs SET created_unix_ns = 1e300, document = replace(document, '_ns\":', '_ns\":{NUMBER}')",
    "figures": "UPDATE figures SET iops = 'x', quantiles = x'00', mean_ns = 1e999",
    "a bomb": "UPDATE cells SET result = :bomb; UPDATE heads SET rounds = 'x'",
    "a text for bytes": "UPDATE cells SET result = 'text'; UPDATE heads SET rounds = 'x'",
}
READING = (["runs"], ["report"], ["check"], ["history"], ["compare", "latest", "latest"], ["measure", "--resume"])


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run in it."""
    path = tmp_path_factory.mktemp("store") / "kept.db"
    with open_store(str(path)) as store:
        run = sample.run(status=RunStatus.STOPPED)
        store.create_run(run)
        store.save_cell(run.id, sample.cell())
        store.save_outcome(run.id, *sample.outcome())
    with closing(sqlite3.connect(path)) as kept:
        kept.execute("PRAGMA journal_mode = DELETE")
    return path


@pytest.mark.ci
@pytest.mark.first
def test_a_store_that_somebody_changed_is_told_in_words(tmp_path: Path, measured: Path, own_state: Path) -> None:
    # Where the lock of a run of that name would be, which is removed at the run's end.
    victim = own_state.parent / "victim.lock"
    victim.write_text("theirs")
    bomb = zlib.compress(bytes(300 << 20), 1)
    asked: list[tuple[str, list[object]]] = []
    said: dict[str, str] = {}
    for name, statements in OF_A_STORE.items():
        path = tmp_path / f"{name}.db"
        path.write_bytes(measured.read_bytes())
        with closing(sqlite3.connect(path, isolation_level=None)) as kept:
            for one in statements.split("; "):
                kept.execute(one, {"bomb": bomb} if ":bomb" in one else {})
        asked += [(name, [*words, "--store", path]) for words in READING]
    for (name, words), ended in zip(asked, ends_of([words for _, words in asked]), strict=True):
        assert not ended.crashed and ended.code in (0, 1, 2, 5), (name, words, ended)
        said[name] = said.get(name, "") + ended.err
    assert all("error: " in text for text in said.values()), said
    assert victim.read_text() == "theirs"


def test_files_are_not_named_after_a_run_that_leads_elsewhere(own_state: Path) -> None:
    for name in ("../../x", "/etc/x", "", ".hidden", "a/b", "x" * 65, "a\n"):
        with pytest.raises(UsageError), held(name):
            pass
        with pytest.raises(ValidationError):
            RunHead(id=name, created_unix_ns=1, status=RunStatus.DONE, stack="", layers=(), workloads=(), rounds=1)


def test_a_link_that_leads_nowhere_makes_no_file_there(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="dangling symbolic link"):
        open_store(str(tmp_path / "link.db"))
    assert not (tmp_path / "elsewhere").exists()


def test_a_clock_beyond_what_can_be_kept_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 11_250_000_000 * 10**9)
    with pytest.raises(RunFailed, match="the year 2326"):
        now_unix_ns()
