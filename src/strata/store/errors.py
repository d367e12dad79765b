"""What SQLite says, as errors a user can act on."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError
from sqlalchemy.exc import DBAPIError

from strata import units
from strata.errors import StoreError

NO_SPACE = units.MIB
"""Bytes free below which an I/O error of SQLite is taken for a full disk: it needs room for its log and index."""


@contextmanager
def named(what: str, path: Path | str) -> Iterator[None]:
    """Turns every database error in the block into a `StoreError` ``<what> <path>: …``; a text names a server.

    So it does with values that are not as this version saves them: anybody may have written to the database.
    """
    try:
        yield
    except DBAPIError as e:
        if isinstance(path, str):
            raise _of_server(what, path, e) from e
        cause = e.orig if isinstance(e.orig, sqlite3.Error) else e
        raise _error(what, path, cause) from e
    except sqlite3.Error as e:
        raise _error(what, path, e) from e
    except OSError as e:
        raise StoreError(what, str(path), e.strerror or str(e), "give another path with STRATA_STORE") from e
    except UNLIKE as e:
        raise StoreError(what, str(path), why_of(e), UNLIKE_HINT) from e


UNLIKE = (ValueError, TypeError, OverflowError)
"""What values raise that this version did not save: of another kind, out of range, or no JSON."""
UNLIKE_HINT = "this version did not write it: restore it from a backup, or use the version that wrote it"


def why_of(error: Exception) -> str:
    """Where in a value, and what is wrong with it, on one line."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}"
    return f"it holds a value of the wrong type ({error})"


def no_database(what: str, path: Path) -> StoreError:
    """What is said of a file that is none of SQLite's."""
    hint = f"give another file with STRATA_STORE, or move it away: mv {path} {path}.damaged"
    return StoreError(what, str(path), "it is not a SQLite file; it was not changed", hint)


def _of_server(what: str, where: str, error: DBAPIError) -> StoreError:
    """A server's own words; its states are in the appendix A of PostgreSQL's manual."""
    said = str(error.orig or error).strip().splitlines() or ["no reason given"]
    state = getattr(error.orig, "sqlstate", None) or ""
    match state[:2]:
        case "53":
            hint = "free disk space, memory or connections on the server; saved data is safe"
        case "55" | "40" | "57":
            hint = "another process has locked it, or the server is shutting down; try again"
        case "42":
            hint = "grant this user the right to create tables and to write in that database"
        case "28" | "3D":
            hint = "check user, password and database of --store"
        case _ if error.connection_invalidated or not state:
            hint = "check that the server is running and can be reached; saved data is safe"
        case _:
            hint = "saved data is safe; try again"
    return StoreError(what, where, said[0], hint)


def _error(what: str, path: Path | str, error: BaseException) -> StoreError:
    path = Path(path)
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and _full(path):
        code = sqlite3.SQLITE_FULL
    why, hint = _reason(code, path, error)
    return StoreError(what, str(path), why, hint)


def _reason(code: int, path: Path, error: BaseException) -> tuple[str, str]:
    match code:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return (
                "another process has locked it",
                f"wait for it to end (fuser {path} shows it), or use another store with STRATA_STORE",
            )
        case sqlite3.SQLITE_FULL:
            return (
                "the disk is full",
                f"free space in {path.parent}; saved data is safe, and the run can be resumed",
            )
        case sqlite3.SQLITE_NOTADB:
            other = no_database("", path)
            return other.why, other.hint
        case sqlite3.SQLITE_CORRUPT:
            return (
                f"it is damaged ({error}); it was not changed",
                f"restore it from a backup, or move it away: mv {path} {path}.damaged",
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return (
                f"it cannot be written to ({error})",
                f"give this user write access to {path.parent}, or give another path with STRATA_STORE",
            )
        case _:
            return str(error), "saved data is safe; try again"


def _full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < NO_SPACE and os.access(path.parent, os.W_OK)
    except OSError:
        return False
