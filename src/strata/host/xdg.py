"""Where Strata keeps its own things: the XDG base directories."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from strata.errors import RunFailed


def state_path(environ: Mapping[str, str] = os.environ) -> Path:
    """``$STRATA_STATE_DIR``, else ``$XDG_STATE_HOME/strata``, else below ``~/.local/state``. Makes nothing.

    Raises `RunFailed` when no variable is set and the user has no home.
    """
    if own := environ.get("STRATA_STATE_DIR"):
        return Path(own).absolute()
    xdg = environ.get("XDG_STATE_HOME", "")
    # The XDG specification: a relative path is invalid and is to be ignored.
    if xdg.startswith("/"):
        return Path(xdg) / "strata"
    try:
        home = Path(environ.get("HOME") or Path.home())
    except RuntimeError as e:
        why, hint = "this user has no home directory", "set XDG_STATE_HOME to a directory you may write"
        raise RunFailed("cannot tell where to keep the store", "", why, hint) from e
    return home / ".local" / "state" / "strata"


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """``$XDG_CONFIG_HOME/strata``, else ``~/.config/strata``; ``/etc/strata`` for users without a home."""
    xdg = environ.get("XDG_CONFIG_HOME", "")
    if xdg.startswith("/"):
        return Path(xdg) / "strata"
    try:
        return Path(environ.get("HOME") or Path.home()) / ".config" / "strata"
    except RuntimeError:
        return Path("/etc/strata")


def state_dir() -> Path:
    """`state_path`, made if missing: the store, the list of created files. `RunFailed` when it cannot be made."""
    return _made(state_path(), "STRATA_STATE_DIR")


def _made(path: Path, variable: str) -> Path:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as e:
        hint = f"set {variable} to a directory you may write"
        raise RunFailed("cannot make the directory", str(path), e.strerror or str(e), hint) from e
    return path
