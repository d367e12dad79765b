"""A call as it goes to a node: a function of a module by its name and its arguments, and what comes back.

Functions travel by name alone: a node carries out its own code, never code that was sent. A closure, a lambda or a
function of ``__main__`` is refused before anything is sent.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar, cast

from strata import errors, units
from strata.errors import RunFailed, StrataError

T = TypeVar("T")
P = ParamSpec("P")

ARGUMENTS_MOST = 16 * units.MIB
"""Bytes of the arguments of one call."""
RESULT_MOST = 64 * units.MIB
"""Bytes of the result of one call."""
_PROTOCOL = 5


@dataclass(frozen=True)
class Call(Generic[T]):
    """``function`` is ``module:name``; `of` makes one and proves that the name leads to the function."""

    function: str
    args: tuple[Any, ...] = ()

    @classmethod
    def of(cls, function: Callable[P, T], *args: P.args, **none: P.kwargs) -> Call[T]:
        """The call ``function(*args)``. Raises `TypeError` for what a node could not find by its name."""
        if none:
            raise TypeError("arguments of a call to a node are given by position")
        name = f"{function.__module__}:{function.__qualname__}"
        if function.__module__ == "__main__" or "<" in name or named(name) is not function:
            raise TypeError(f"{name} cannot be found by its name: nodes carry out functions of modules")
        return cls(name, args)


def named(name: str) -> Callable[..., Any]:
    """The function of that name. Raises `TypeError`, or what importing its module raises."""
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise TypeError(f"{name} is no function")
    return cast(Callable[..., Any], found)


def packed(call: Call[Any]) -> bytes:
    """The call as bytes. Raises `RunFailed` where it is too long."""
    made = pickle.dumps((call.function, call.args), _PROTOCOL)
    if len(made) > ARGUMENTS_MOST:
        raise RunFailed("cannot send the call", call.function, _too_long(len(made), ARGUMENTS_MOST))
    return made


def carried_out(given: bytes) -> bytes:
    """Carries out a packed call and gives its outcome: a result, or an error in words."""
    name, args = pickle.loads(given)
    try:
        made = pickle.dumps(("done", named(name)(*args)), _PROTOCOL)
        if len(made) > RESULT_MOST:
            return pickle.dumps(("broke", f"its result is {_too_long(len(made), RESULT_MOST)}"))
    except StrataError as e:
        return refused(e)
    except Exception as e:
        return pickle.dumps(("broke", f"{name} raised {type(e).__name__}: {e}"[:2000]))
    return made


def refused(error: StrataError) -> bytes:
    """The outcome of a call that ended with an error of Strata's."""
    return pickle.dumps(("refused", (type(error).__name__, *_words(error))))


def outcome(given: bytes) -> Any:
    """The result of an outcome. Raises the error of Strata that the call raised, `RunFailed` for any other."""
    kind, value = pickle.loads(given)
    if kind == "done":
        return value
    if kind == "refused":
        name, *words = value
        found = getattr(errors, name, RunFailed)
        raise (found if issubclass(found, StrataError) else RunFailed)(*words)
    raise RunFailed("the call failed", "", str(value))


def _words(error: StrataError) -> tuple[Any, ...]:
    return error.what, error.where, error.why, error.hint, error.problems


def _too_long(size: int, most: int) -> str:
    return f"{units.size(size)}, more than the limit of {units.size(most)}"
