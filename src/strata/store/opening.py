"""Opening the store: look before touching, then connect, then migrate."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from strata.store.location import store_path
from strata.store.schema import migrate, revision_of
from strata.store.store import WRITES, Store
from strata.store.trouble import named

BUSY_TIMEOUT_S = 2.0
"""How long another process may hold the store before we say so. Short: a measurement waits for it."""


def open_store(url: str | None = None) -> Store:
    """The store at ``url`` (``sqlite:///…`` or a path), by default `strata.store.location`; made if it is not there.

    Raises `StoreError` where the file is damaged, foreign, from a newer version, locked, or cannot be written to.
    Nothing is written to a file before it has been found to be ours.
    """
    path = store_path(url)
    what = "cannot open the store"
    with named(what, path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = revision_of(path, BUSY_TIMEOUT_S) if path.exists() else None
        engine = _engine(path)
        try:
            migrate(engine, path, found)
            # A lock or a missing right is said here, and not after the first step was measured in vain.
            engine.connect().close()
        except BaseException:
            engine.dispose()
            raise
    return Store(engine, path)


def _engine(path: Path) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": BUSY_TIMEOUT_S, "isolation_level": None},
        pool_size=1,
        max_overflow=4,
    )
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    assert isinstance(connection, sqlite3.Connection)
    # The write-ahead log lets others read while a run writes. FULL brings the log to the disk with every commit:
    # what save_cell returned from is there after a power cut, which NORMAL does not promise.
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _on_begin(connection: Connection) -> None:
    # A transaction that will write takes the lock at its start: it then waits for its turn, where one that found
    # out only at its first INSERT would be refused at once.
    write = connection.get_execution_options().get(WRITES, True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
