"""Which schema a file has, and bringing it to ours."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Engine, text

from strata import units
from strata.errors import StoreError
from strata.host.untrusted import bytes_of_regular
from strata.store import others
from strata.store.errors import named, no_database
from strata.store.tables import Base

HEAD = "0004"
"""The newest revision in ``migrations/versions``. Known here, so that alembic is loaded only to migrate."""

APPLICATION_ID = 0x53545241
HEADER_BYTES = 100
CHECKED_BYTES = 32 * units.MIB
"""Files up to this size are read through and checked on every opening; in larger ones damage shows when it is read."""

TICK_S = 0.02
"""Times of files are whole ticks of the kernel's clock, at most 10 ms."""


def revision_of(path: Path, busy_timeout_s: float) -> str | None:
    """The revision of an existing store, None for an empty file. Leaves it as it is, and its directory but for the
    index of a log that is there.

    Raises `StoreError` where it is damaged, locked, or a database of somebody else.
    """
    what, path = "cannot open the store", path.resolve()
    with named(what, path):
        # SQLite's locks are those of the process: were the file opened and closed here, a store that is open elsewhere
        # in this process would lose them, and another process would remove its log.
        size = bytes_of_regular(path, what, "give another file with STRATA_STORE")
        if 0 < size < HEADER_BYTES:
            # SQLite takes some of these for an empty database, and would write over them.
            raise no_database(what, path)
        if not size and not _log(path).exists():
            return None
        # Without a log nobody is writing, and `immutable` reads without making the log's files for the purpose. Where
        # somebody began meanwhile, one page may be from before and another from after: then the files are made anyway.
        written, at = _written(path), time.time_ns()
        if not _log(path).exists():
            try:
                return _look(path, "immutable=1", busy_timeout_s)
            except (StoreError, sqlite3.DatabaseError):
                time.sleep(TICK_S)
                # A second write within one tick leaves the time as it was.
                settled = at - written[2] > TICK_S * units.NS_PER_S
                if settled and not _log(path).exists() and _written(path) == written:
                    raise
        return _look(path, "mode=ro", busy_timeout_s)


def _written(path: Path) -> tuple[int, int, int]:
    """Changes when the file is written to, but for a second write within a tick of the kernel's clock."""
    at = path.stat()
    return at.st_ino, at.st_size, at.st_mtime_ns


def _log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _look(path: Path, mode: str, busy_timeout_s: float) -> str | None:
    uri = f"file:{quote(str(path))}?{mode}"
    with closing(sqlite3.connect(uri, uri=True, timeout=busy_timeout_s)) as connection:
        # One look: another process may be making the tables just now.
        connection.execute("BEGIN")
        return _revision(connection, path)


def _revision(connection: sqlite3.Connection, path: Path) -> str | None:
    what = "cannot open the store"
    found = others.in_file(connection)
    if not found:
        return None
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID or "table alembic_version" not in found:
        raise others.refuse(str(path), found, "give another file with STRATA_STORE")
    if acting := others.acting_in_file(connection):
        raise others.refuse(str(path), acting, "remove the triggers and rules on its tables, or give another file")
    if path.stat().st_size <= CHECKED_BYTES:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise StoreError(
                what, str(path), f"it is damaged ({verdict.splitlines()[-1]}); it was not changed",
                f"restore it from a backup, or move it away: mv {path} {path}.damaged",
            )  # fmt: skip
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(row[0]) if row else None


def migrate(engine: Engine, path: Path | str, found: str | None) -> None:
    """Brings the store from ``found`` to `HEAD` in one transaction: after a crash it has the one or the other.

    Of several processes that begin at once, one migrates and the others find it done. Raises `StoreError` for a
    revision this version does not know.
    """
    if found is None and engine.dialect.name == "sqlite" and _made(engine):
        return
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise StoreError(
            "cannot open the store", str(path),
            f"its schema {found} is newer than {HEAD} of this version; it was not changed",
            "use the newer version of Strata, or give another store with STRATA_STORE",
        )  # fmt: skip
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            # SQLite's transaction holds the whole file; here one lock stands for the schema, until the commit.
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": APPLICATION_ID})
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _made(engine: Engine) -> bool:
    """Makes the tables of a file that is still empty, as all revisions in turn would, which take longer to load than to
    run; False where another process has begun one.
    """
    with engine.begin() as connection:
        if connection.exec_driver_sql("SELECT 1 FROM sqlite_schema LIMIT 1").first() is not None:
            return False
        Base.metadata.create_all(connection, checkfirst=False)
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.exec_driver_sql(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        )
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (HEAD,))
    return True
