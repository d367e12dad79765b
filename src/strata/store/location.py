"""Where the store is: given, else by environment, else in the state directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from strata.errors import UsageError
from strata.host.xdg import state_path

FILE_NAME = "strata.db"


def default_path(environ: Mapping[str, str] = os.environ) -> Path:
    """``strata.db`` in the state directory (`strata.host.xdg.state_path`)."""
    return state_path(environ) / FILE_NAME


def asked_for(url: str | None, environ: Mapping[str, str] = os.environ) -> str:
    """``url``, else `STRATA_STORE`; empty: the store is where `default_path` says."""
    return url or environ.get("STRATA_STORE") or ""


def server_url(url: str | None, environ: Mapping[str, str] = os.environ) -> URL | None:
    """The PostgreSQL database behind ``url`` or `STRATA_STORE`; None where neither names one."""
    given = asked_for(url, environ)
    if not given.startswith(("postgresql:", "postgresql+psycopg:", "postgres:")):
        return None
    try:
        return make_url(given).set(drivername="postgresql+psycopg")
    except ArgumentError as e:
        raise UsageError(
            "cannot use the store", "postgresql", "it is not a URL", "write postgresql://user@host/database"
        ) from e


def store_path(url: str | None, environ: Mapping[str, str] = os.environ) -> Path:
    """The file behind ``url``, a ``sqlite:///`` URL or a plain path; None: `STRATA_STORE`, else `default_path`.

    Raises `UsageError` for what is not a file: a store in memory would lose what it promises to keep.
    """
    given = asked_for(url, environ)
    if not given:
        return default_path(environ)
    if "://" not in given:
        return Path(given).absolute()
    try:
        parsed = make_url(given)
    except ArgumentError as e:
        raise UsageError("cannot use the store", given, "it is not a URL", "write sqlite:////absolute/strata.db") from e
    if parsed.get_backend_name() != "sqlite":
        raise UsageError(
            "cannot use the store", parsed.render_as_string(), f"{parsed.get_backend_name()} is not supported",
            "write sqlite:////absolute/strata.db or postgresql://user@host/database",
        )  # fmt: skip
    if parsed.database in (None, "", ":memory:") or (parsed.database or "").startswith("file:"):
        raise UsageError("cannot use the store", given, "it names no file", "write sqlite:////absolute/strata.db")
    return Path(parsed.database or "").absolute()
