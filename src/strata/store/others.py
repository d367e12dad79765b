"""What a database holds that is not Strata's, of every kind that a database can hold.

Tables are made in an empty database and nowhere else: who keeps a view, a function or a table in another schema would
find ours beside it, and would lose what is theirs to a later clean-up. In a store that is there, things of others
are left alone but for those that would act when we write: triggers and rules on our tables.
"""

from __future__ import annotations

import sqlite3

from sqlalchemy import Connection, text

from strata.errors import StoreError

NAMED_AT_MOST = 5
_FIRST_OF_USERS = 16384
"""The least number of an object that was not there when the server was made (FirstNormalObjectId)."""
_RELATIONS = (
    "CASE relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' "
    "WHEN 'f' THEN 'foreign table' WHEN 'c' THEN 'type' ELSE 'table' END"
)
# Of each catalogue: the kind, the name, what is counted. Indexes, row types and arrays come with their tables.
_CATALOGUES = (
    ("pg_namespace", "'schema'", "nspname", "nspname <> 'public' AND nspname !~ '^pg_(toast_)?temp_'"),
    (
        "pg_class",
        _RELATIONS,
        "oid::regclass::text",
        "relkind IN ('r','p','v','m','S','f','c') AND relpersistence <> 't'",
    ),
    ("pg_proc", "'function'", "oid::regprocedure::text", "true"),
    ("pg_type", "'type'", "oid::regtype::text", "typrelid = 0 AND typcategory <> 'A'"),
    ("pg_operator", "'operator'", "oid::regoperator::text", "true"),
    ("pg_collation", "'collation'", "collname", "true"),
    ("pg_conversion", "'conversion'", "conname", "true"),
    ("pg_ts_config", "'text search configuration'", "cfgname", "true"),
    ("pg_ts_dict", "'text search dictionary'", "dictname", "true"),
    ("pg_statistic_ext", "'statistics object'", "stxname", "true"),
    ("pg_event_trigger", "'event trigger'", "evtname", "true"),
    ("pg_publication", "'publication'", "pubname", "true"),
    ("pg_foreign_server", "'foreign server'", "srvname", "true"),
    ("pg_largeobject_metadata", "'large object'", "oid::text", "true"),
)
# What an extension brought was put there by whoever made the database, often by default.
_NOT_OF_AN_EXTENSION = (
    "NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.classid = '{0}'::regclass AND d.deptype = 'e')"
)
_IN_SERVER = " UNION ALL ".join(
    f"SELECT {kind} AS kind, {name} AS name FROM {catalogue} c "
    f"WHERE oid >= {_FIRST_OF_USERS} AND {wanted} AND {_NOT_OF_AN_EXTENSION.format(catalogue)}"
    for catalogue, kind, name, wanted in _CATALOGUES
)
_ACTING_IN_SERVER = (
    "SELECT 'trigger' AS kind, tgname AS name FROM pg_trigger WHERE NOT tgisinternal AND tgrelid = ANY(:ours) "
    "UNION ALL SELECT 'rule', rulename FROM pg_rewrite WHERE rulename <> '_RETURN' AND ev_class = ANY(:ours)"
)


def in_file(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Everything in a SQLite file, the numbers that its owner gave it included: ``view x``."""
    # Read as it lies there: a view or a trigger is not run.
    rows = connection.execute("SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    found = [f"{kind} {name}" for kind, name in rows]
    for number in ("application_id", "user_version"):
        (value,) = connection.execute(f"PRAGMA {number}").fetchone()
        found += [f"{number} {value}"] if value else []
    return tuple(found)


def acting_in_file(connection: sqlite3.Connection) -> tuple[str, ...]:
    """What would act when something is written to the tables of a SQLite file."""
    rows = connection.execute("SELECT type, name FROM sqlite_schema WHERE type NOT IN ('table', 'index', 'view')")
    return tuple(f"{kind} {name}" for kind, name in rows)


def in_server(connection: Connection) -> tuple[str, ...]:
    """Everything that people put into a PostgreSQL database, in every schema."""
    return tuple(f"{kind} {name}" for kind, name in connection.execute(text(_IN_SERVER)))


def acting_in_server(connection: Connection, ours: frozenset[str]) -> tuple[str, ...]:
    """What would act when something is written to our tables."""
    asked = text("SELECT oid FROM pg_class WHERE relname = ANY(:names) AND pg_table_is_visible(oid)")
    numbers = [oid for (oid,) in connection.execute(asked, {"names": list(ours)})]
    return tuple(f"{kind} {name}" for kind, name in connection.execute(text(_ACTING_IN_SERVER), {"ours": numbers}))


def refuse(where: str, found: tuple[str, ...], hint: str) -> StoreError:
    """The error that names what is there."""
    shown = ", ".join(found[:NAMED_AT_MOST]) + (f" and {more} more" if (more := len(found) - NAMED_AT_MOST) > 0 else "")
    why = f"it is a database with objects that are not Strata's ({shown}); it was not changed"
    return StoreError("cannot open the store", where, why, hint)
