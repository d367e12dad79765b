"""The engines there are, by the word that chooses them."""

from __future__ import annotations

from collections.abc import Callable

from strata.engine.fio import FioEngine
from strata.engine.native import NativeEngine
from strata.engine.port import Engine
from strata.errors import UsageError

ENGINES: dict[str, Callable[[], Engine]] = {
    "native": NativeEngine,
    "fio": FioEngine,
}

DEFAULT = "native"


def engine_of(name: str) -> Engine:
    """The engine of that name. Raises `UsageError` when there is none; whether it is installed shows on use."""
    try:
        return ENGINES[name]()
    except KeyError:
        raise UsageError("no such engine", name, "", f"there are: {', '.join(ENGINES)}") from None
