"""Opening a store on a PostgreSQL server: look before touching, then migrate."""

from __future__ import annotations

from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine.interfaces import ExecutionContext

from strata.errors import UsageError
from strata.store import others
from strata.store.errors import named
from strata.store.location import shown
from strata.store.recall import BINARY
from strata.store.schema import HEAD, migrate
from strata.store.store import Store

CONNECT_TIMEOUT_S = 5
LOCK_TIMEOUT_MS = 15_000
"""How long a statement waits for a lock: another version may be migrating the store."""

OURS = frozenset({"runs", "cells", "outcomes"})


def open_server(url: URL) -> Store:
    """The store in that database, made if the database is empty.

    Raises `StoreError` where the server cannot be reached, the database is somebody else's or of a newer version;
    `UsageError` where the driver is not installed.
    """
    where = shown(url)
    what = "cannot open the store"
    engine = _engine(url, where)
    try:
        with named(what, where):
            # One look: another process may be making the tables just now.
            with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
                found = _revision(connection, where)
            if found != HEAD:
                migrate(engine, where, found)
    except BaseException:
        engine.dispose()
        raise
    return Store(engine, where)


def _engine(url: URL, where: str) -> Engine:
    settings = f"-c lock_timeout={LOCK_TIMEOUT_MS} -c timezone=UTC"
    options = {"connect_timeout": CONNECT_TIMEOUT_S, "options": settings, "application_name": "strata"}
    try:
        engine = create_engine(url, connect_args=options, pool_size=1, max_overflow=4, pool_pre_ping=True)
    except ModuleNotFoundError as e:
        raise UsageError(
            "cannot use the store", where, "the PostgreSQL driver is not installed", "pip install 'strata[postgres]'"
        ) from e
    event.listen(engine, "before_cursor_execute", _binary_where_asked)
    return engine


def _binary_where_asked(
    connection: Connection, cursor: Any, statement: str, values: Any, context: ExecutionContext, many: bool
) -> None:
    if context.execution_options.get(BINARY):
        from psycopg.pq import Format

        cursor.format = Format.BINARY


def _revision(connection: Connection, where: str) -> str | None:
    tables = set(inspect(connection).get_table_names())
    ours = "alembic_version" in tables and tables >= OURS
    if not ours:
        found = others.in_server(connection)
        if not found:
            return None
        raise others.refuse(where, found, "give an empty database; to create one: createdb strata")
    if found := others.acting_in_server(connection, frozenset(tables)):
        raise others.refuse(where, found, "remove the triggers and rules on its tables, or give another database")
    row = connection.execute(text("SELECT version_num FROM alembic_version")).fetchone()
    return None if row is None else str(row[0])
