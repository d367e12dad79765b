"""Where the store is: given, else by environment, else in the state directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from strata.errors import UsageError
from strata.host.xdg import state_path

FILE_NAME = "strata.db"


def default_path(environ: Mapping[str, str] = os.environ) -> Path:
    """``strata.db`` in the state directory (`strata.host.xdg.state_path`)."""
    return state_path(environ) / FILE_NAME


def store_path(url: str | None, environ: Mapping[str, str] = os.environ) -> Path:
    """The file behind ``url``, a ``sqlite:///`` URL or a plain path; None: `STRATA_STORE`, else `default_path`.

    Raises `UsageError` for what is not a file: a store in memory would lose what it promises to keep.
    """
    given = url or environ.get("STRATA_STORE")
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
            "write sqlite:////absolute/strata.db",
        )  # fmt: skip
    if parsed.database in (None, "", ":memory:") or (parsed.database or "").startswith("file:"):
        raise UsageError("cannot use the store", given, "it names no file", "write sqlite:////absolute/strata.db")
    return Path(parsed.database or "").absolute()
