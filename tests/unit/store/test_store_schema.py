from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import store_samples as sample
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from migrating import move
from sqlalchemy import create_engine

import strata.store
from strata.errors import StoreError
from strata.store import open_store, others, schema
from strata.store.migrations.versions import r0001_runs_cells_outcomes as first
from strata.store.tables import Base

MIGRATIONS = Path(strata.store.__file__).parent / "migrations"


def test_the_known_head_is_the_newest_revision():
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [schema.HEAD]
    assert first.APPLICATION_ID == schema.APPLICATION_ID


def test_migrations_give_the_tables_of_the_models(tmp_path):
    with open_store(str(tmp_path / "s.db")) as store, store._engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_a_new_store_has_what_all_revisions_in_turn_make(tmp_path):
    def kept(path: Path) -> object:
        with closing(sqlite3.connect(path)) as db:
            made = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall()
            said = [db.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version", "encoding")]
            revision = db.execute("SELECT version_num FROM alembic_version").fetchall()
        return (
            sorted(
                (*names, " ".join((sql or "").replace("(", "( ").replace(")", " )").split())) for *names, sql in made
            ),
            said,
            revision,
        )

    new, moved = tmp_path / "new.db", tmp_path / "moved.db"
    open_store(str(new)).close()
    engine = create_engine(f"sqlite:///{moved}")
    move(engine, "head")
    engine.dispose()
    assert kept(new) == kept(moved)


def test_a_new_store_loads_no_migration_code(tmp_path):
    assert not _loads_alembic(tmp_path / "s.db")


def test_a_making_that_breaks_off_leaves_nothing_behind(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    made = Base.metadata.create_all

    def breaks(*args, **options):
        made(*args, **options)
        raise RuntimeError("pulled plug")

    with monkeypatch.context() as patched:
        patched.setattr(Base.metadata, "create_all", breaks)
        with pytest.raises(RuntimeError):
            open_store(str(path))
    assert _tables(path) == []
    with open_store(str(path)) as store:
        store.create_run(sample.run())


def test_a_migration_that_breaks_off_leaves_what_was(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    open_store(str(path)).close()
    engine = create_engine(f"sqlite:///{path}")
    move(engine, "0001")
    engine.dispose()
    before = _tables(path)
    from alembic.operations import Operations

    created = Operations.create_table

    def breaks(self, name, *columns, **options):
        if name == "matrices":
            raise RuntimeError("pulled plug")
        return created(self, name, *columns, **options)

    with monkeypatch.context() as patched:
        patched.setattr("alembic.op.create_table", lambda *a, **k: breaks(_op(), *a, **k))
        with pytest.raises(RuntimeError):
            open_store(str(path))
    assert _tables(path) == before and "figures" not in before
    with open_store(str(path)) as store:
        store.create_run(sample.run())


def _tables(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return [name for (name,) in db.execute("SELECT name FROM sqlite_schema")]


def _op():
    from alembic import op

    return op._proxy


def test_an_open_of_an_up_to_date_store_loads_no_migration_code(tmp_path):
    path = tmp_path / "s.db"
    open_store(str(path)).close()
    assert not _loads_alembic(path)


def _loads_alembic(path: Path) -> bool:
    code = (
        f"import sys; from strata.store import open_store; open_store({str(path)!r}); print('alembic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=sample.child_environment(), capture_output=True, text=True, check=True
    )
    return done.stdout.strip() == "True"


@pytest.mark.ci
def test_many_processes_may_make_the_store_at_once(tmp_path):
    path = tmp_path / "s.db"
    code = (
        "import sys; import store_samples as s; from strata.store import open_store\n"
        "sys.stdin.readline()\n"
        "with open_store(sys.argv[1]) as store: store.create_run(s.run(sys.argv[2]))\n"
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path), f"run-{n}"], env=sample.child_environment(),
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for n in range(3)
    ]  # fmt: skip
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    said = [child.communicate(timeout=60)[1] for child in children]
    assert [c.returncode for c in children] == [0] * 3, said
    with open_store(str(path)) as store:
        assert len(store.list_runs(10)) == 3


def test_writers_that_come_and_go_during_a_look_make_no_store_look_damaged(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    open_store(str(path)).close()

    def fill(blocks: int) -> None:
        with closing(sqlite3.connect(path)) as db:
            db.executescript("DROP TABLE IF EXISTS filled; CREATE TABLE filled (block BLOB)")
            db.executemany("INSERT INTO filled VALUES (randomblob(6000))", [()] * blocks)
            db.commit()
            db.execute("VACUUM")

    looks = []

    def overtaken(connection: sqlite3.Connection) -> set[str]:
        tables = in_file(connection)
        looks.append(len(looks))
        # Begun, committed and brought home between two pages of the look.
        fill(7 if len(looks) % 2 else 300)
        return tables

    fill(300)
    in_file = others.in_file
    monkeypatch.setattr(others, "in_file", overtaken)
    assert schema.revision_of(path, 30) == schema.HEAD
    assert len(looks) == 2


def test_a_store_of_a_newer_version_is_left_as_it_is(tmp_path):
    path = tmp_path / "s.db"
    with open_store(str(path)) as store:
        store.create_run(sample.run())
    with sqlite3.connect(path) as db:
        db.execute("UPDATE alembic_version SET version_num = '0999'")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        open_store(str(path))
    assert "0999" in caught.value.why and "newer" in caught.value.why
    assert str(path) in caught.value.headline and caught.value.hint and caught.value.exit_code == 1
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["s.db"]
