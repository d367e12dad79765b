"""Where the store is: given, else by environment, else in the state directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from strata.errors import UsageError
from strata.host.xdg import state_path
from strata.text import secrets

FILE_NAME = "strata.db"


def default_path(environ: Mapping[str, str] = os.environ) -> Path:
    """``strata.db`` in the state directory (`strata.host.xdg.state_path`)."""
    return state_path(environ) / FILE_NAME


def asked_for(url: str | None, environ: Mapping[str, str] = os.environ) -> str:
    """``url``, else `STRATA_STORE`; empty: the store is where `default_path` says."""
    given = (url or environ.get(secrets.STORE_VARIABLE) or "").strip()
    secrets.know(given)
    return given


def server_url(url: str | None, environ: Mapping[str, str] = os.environ) -> URL | None:
    """The PostgreSQL database behind ``url`` or `STRATA_STORE`; None where neither names one."""
    given = asked_for(url, environ)
    if not given.startswith(("postgresql:", "postgresql+psycopg:", "postgres:")):
        return None
    try:
        made = make_url(_encoded(given)).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError) as e:
        raise _unusable(given, "it is not a URL", "write postgresql://user@host/database") from e
    if (password := made.query.get("password")) is None:
        return made
    return made.set(password=password if isinstance(password, str) else password[-1]).difference_update_query(
        ["password"]
    )


def shown(url: URL) -> str:
    """The address of a database as it is told and saved."""
    return secrets.hidden(url.render_as_string(hide_password=False))


def _unusable(given: str, why: str, hint: str) -> UsageError:
    return UsageError("cannot use the store", secrets.hidden(given), why, hint)


def _encoded(given: str) -> str:
    """A URL whose password may hold what a URL has another meaning for."""
    for start, end in reversed(secrets.spans(given)):
        given = given[:start] + quote(unquote(given[start:end]), safe="") + given[end:]
    return given


def store_path(url: str | None, environ: Mapping[str, str] = os.environ) -> Path:
    """The file behind ``url``, a ``sqlite:///`` URL or a plain path; None: `STRATA_STORE`, else `default_path`.

    Raises `UsageError` for what is not a file: a store in memory would lose what it promises to keep.
    """
    given = asked_for(url, environ)
    if not given:
        return default_path(environ)
    if "://" not in given:
        if secrets.spans(given):
            why = "it contains a password but is not a URL"
            raise _unusable(given, why, "write postgresql://user@host/database")
        return Path(given).absolute()
    try:
        parsed = make_url(given)
    except (ArgumentError, ValueError) as e:
        raise _unusable(given, "it is not a URL", "write sqlite:////absolute/strata.db") from e
    if parsed.get_backend_name() != "sqlite":
        hint = "write sqlite:////absolute/strata.db or postgresql://user@host/database"
        raise _unusable(given, f"{parsed.get_backend_name()} is not supported", hint)
    if parsed.database in (None, "", ":memory:") or (parsed.database or "").startswith("file:"):
        raise _unusable(given, "it has no file name", "write sqlite:////absolute/strata.db")
    return Path(parsed.database or "").absolute()
