"""The engines there are, by the word that chooses them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from strata.engine.native import NativeEngine
from strata.engine.port import Engine
from strata.errors import UsageError, choices
from strata.model.endpoint import CLUSTER, Endpoint
from strata.model.placement import Placement


def _fio() -> Engine:
    # Here, not above: who does not ask for it need not load all that drives and reads it.
    from strata.engine.fio.engine import FioEngine

    return FioEngine()


ENGINES: dict[str, Callable[[], Engine]] = {
    "native": NativeEngine,
    "fio": _fio,
}

DEFAULT = "native"

AUTO = "auto"
"""Not an engine but the wish for the one that reaches the endpoints."""


def engine_for(name: str, endpoints: Iterable[Endpoint], placement: Placement | None = None) -> Engine:
    """The engine of that name; with ``auto`` fio where one of the endpoints is reached by fio alone, else Strata's own.

    Errors as `engine_of`.
    """
    if name == AUTO:
        name = "fio" if any(endpoint.kind in CLUSTER for endpoint in endpoints) else DEFAULT
    return engine_of(name, placement)


def engine_of(name: str, placement: Placement | None = None) -> Engine:
    """The engine of that name. Raises `UsageError` when there is none, or when it cannot place its threads as asked.

    Whether it is installed shows on use.
    """
    if placement is not None and name in ENGINES and name != DEFAULT:
        raise UsageError(
            "cannot pin the threads of the",
            f"{name} engine",
            "only the native engine supports pinning",
            "--engine native",
        )
    try:
        return ENGINES[name]()
    except KeyError:
        raise UsageError("there is no engine", name, "", choices(name, (*ENGINES, AUTO))) from None
