"""Opening the store: look before touching, then connect, then migrate."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from strata import units
from strata.errors import SafetyRefusal, UsageError
from strata.host.xdg import state_dir
from strata.store.errors import named
from strata.store.location import asked_for, server_url, store_path
from strata.store.schema import HEAD, migrate, revision_of
from strata.store.store import WRITES, Store

LONGEST_VALUE = 256 * units.MIB
"""Bytes of a value that is read or saved; a result has a thousandth of it."""

BUSY_TIMEOUT_S = 2.0
"""How long another process may hold the store before we say so. Short: a measurement waits for it."""

MIGRATION_TIMEOUT_S = 15.0
"""The same for the first opening by a new version: whoever holds the store is probably migrating it too."""


def open_store(url: str | None = None) -> Store:
    """The store at ``url`` (``sqlite:///…``, a path, or ``postgresql://…``), by default `strata.store.location`.

    Made if it is not there. Raises `StoreError` where it is damaged, foreign, from a newer version, locked, or cannot
    be written to, `SafetyRefusal` where the state directory is not ours alone. Nothing is written to a file or a
    database before it has been found to be ours, or empty.
    """
    server = server_url(url)
    if server is not None:
        from strata.store.server import open_server

        return open_server(server)
    path = store_path(url)
    if not asked_for(url):
        state_dir()
    what = "cannot open the store"
    with named(what, path):
        _check_link(path)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = revision_of(path, BUSY_TIMEOUT_S) if path.exists() else None
        if found != HEAD:
            with _engine(path, MIGRATION_TIMEOUT_S) as engine:
                migrate(engine, path, found)
        with _engine(path, BUSY_TIMEOUT_S, keep=True) as engine:
            # A lock or a missing right is said here, and not after the first step was measured in vain.
            engine.connect().close()
    return Store(engine, path)


def _check_link(path: Path) -> None:
    """A link that somebody else put there leads where they want, and one that leads nowhere makes a file there."""
    if not path.is_symlink():
        return
    owner = path.lstat().st_uid
    if owner not in (0, os.geteuid()):
        why = f"it is a symbolic link of user {owner} to {path.readlink()}"
        raise SafetyRefusal("will not open the store", str(path), why, "give the file itself")
    if not path.exists():
        why = f"it is a dangling symbolic link ({path.readlink()})"
        raise UsageError("cannot open the store", str(path), why, "give the file itself")


@contextmanager
def _engine(path: Path, timeout_s: float, keep: bool = False) -> Iterator[Engine]:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": timeout_s, "isolation_level": None},
        pool_size=1,
        max_overflow=4,
    )
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    try:
        yield engine
    except BaseException:
        engine.dispose()
        raise
    if not keep:
        engine.dispose()


def _on_connect(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    assert isinstance(connection, sqlite3.Connection)
    # The write-ahead log lets others read while a run writes. FULL brings the log to the disk with every commit:
    # what save_cell returned from is there after a power cut, which NORMAL does not promise.
    # A schema that is not trusted runs no function of SQLite's that does more than calculate.
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    for pragma in ("trusted_schema = OFF", "journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _on_begin(connection: Connection) -> None:
    # A transaction that will write takes the lock at its start: it then waits for its turn, where one that found
    # out only at its first INSERT would be refused at once.
    write = connection.get_execution_options().get(WRITES, True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
