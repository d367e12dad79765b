"""What SQLite says, as errors a user can act on."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from strata import units
from strata.errors import StoreError

NO_SPACE = units.MIB
"""Bytes free below which an I/O error of SQLite is taken for a full disk: it needs room for its log and index."""


@contextmanager
def named(what: str, path: Path) -> Iterator[None]:
    """Turns every database error in the block into a `StoreError` ``<what> <path>: …``."""
    try:
        yield
    except DBAPIError as e:
        cause = e.orig if isinstance(e.orig, sqlite3.Error) else e
        raise _error(what, path, cause) from e
    except sqlite3.Error as e:
        raise _error(what, path, e) from e
    except OSError as e:
        raise StoreError(what, str(path), e.strerror or str(e), "name another place with STRATA_STORE") from e


def _error(what: str, path: Path, error: BaseException) -> StoreError:
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and _full(path):
        code = sqlite3.SQLITE_FULL
    why, hint = _reason(code, path, error)
    return StoreError(what, str(path), why, hint)


def _reason(code: int, path: Path, error: BaseException) -> tuple[str, str]:
    match code:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return (
                "another process holds it",
                f"wait for it to end (fuser {path} names it), or use another store with STRATA_STORE",
            )
        case sqlite3.SQLITE_FULL:
            return (
                "the disk is full",
                f"make room in {path.parent}; what was saved before is intact and the run can be resumed",
            )
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            return (
                f"it is damaged ({error}); it was left as it is",
                f"restore it from a backup, or set it aside: mv {path} {path}.damaged",
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return (
                f"it cannot be written to ({error})",
                f"give this user write access to {path.parent}, or name another place with STRATA_STORE",
            )
        case _:
            return str(error), "what was saved before is intact; try again"


def _full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < NO_SPACE and os.access(path.parent, os.W_OK)
    except OSError:
        return False
