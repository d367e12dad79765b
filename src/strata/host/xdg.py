"""Where Strata keeps its own things: the XDG base directories."""

from __future__ import annotations

import os
from pathlib import Path

from strata.errors import RunFailed


def state_dir() -> Path:
    """The store, the list of created files: ``$STRATA_STATE_DIR``, else ``$XDG_STATE_HOME/strata``. Made if missing.

    Raises `RunFailed` when it cannot be made.
    """
    own = os.environ.get("STRATA_STATE_DIR")
    return _made(Path(own).absolute() if own else _base("XDG_STATE_HOME", ".local/state"), "STRATA_STATE_DIR")


def config_dir() -> Path:
    """``$XDG_CONFIG_HOME/strata``; never made, only read."""
    return _base("XDG_CONFIG_HOME", ".config")


def cache_dir() -> Path:
    """What can be made again: ``$XDG_CACHE_HOME/strata``. Made if missing; raises `RunFailed` when it cannot be."""
    return _made(_base("XDG_CACHE_HOME", ".cache"), "XDG_CACHE_HOME")


def _base(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    # The XDG specification: a relative path is invalid and is to be ignored.
    return (Path(value) if value.startswith("/") else Path.home() / fallback) / "strata"


def _made(path: Path, variable: str) -> Path:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as e:
        hint = f"set {variable} to a directory you may write"
        raise RunFailed("cannot make the directory", str(path), e.strerror or str(e), hint) from e
    return path
