"""Where Strata keeps its own things: the XDG base directories."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from strata.errors import RunFailed
from strata.host import ownership

ELSEWHERE = "set STRATA_STATE_DIR to a directory of your own"
"""The hint where what lies in the state directory is not the user's."""
_HINT = f"{ELSEWHERE} (with sudo: sudo -H keeps it in root's home)"
_HOLDS = r"strata\.db.*|\.?files\..*|tracing|nodes|watch|live|serve|.*\.lock"
"""What the state directory holds."""


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
        why, hint = "this user has no home directory", "set XDG_STATE_HOME to a directory that you may write to"
        raise RunFailed("cannot find a directory for the store", "", why, hint) from e
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
    """`state_path`, made if missing: the store, the list of created files.

    Raises `RunFailed` when it cannot be made, `SafetyRefusal` when it is not ours alone (`strata.host.ownership`).
    """
    return ownership.folder(state_path(), _HINT, _HOLDS)


def state_dir_if_there() -> Path | None:
    """The same, but nothing is made."""
    try:
        return ownership.folder(state_path(), _HINT, _HOLDS, make=False)
    except FileNotFoundError:
        return None
