"""Options in bundles: each is declared once, and a command says which bundles it takes.

A bundle is a class whose annotated attributes are options, with their defaults. A command that has a parameter of a
bundle's type is given the bundle, filled; on the command line there are its options. So that a command of forty options
is a function of ten parameters, and what several commands share is said in one place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, dataclass_transform, get_type_hints


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Bundle:
    """Options and their values. No dataclass: to make a dozen of them costs every start of the program 10 ms."""

    def __init__(self, **given: Any) -> None:
        """``given``: what was typed, or its default; what is left out has its default."""
        self.__dict__.update(given)


def names(*bundles: type[Bundle]) -> frozenset[str]:
    """The parameters of these bundles, as the tables of the ways call them."""
    return frozenset(name for bundle in bundles for name in _options(bundle))


def unbundled(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command as the library of the command line takes it: with every option of its bundles as a parameter."""
    asked = inspect.signature(command).parameters.values()
    if not any(_is_bundle(command.__globals__.get(str(p.annotation))) for p in asked):
        # To resolve what the types of all commands are costs every start.
        return command
    hints = get_type_hints(command, include_extras=True)
    plain: list[inspect.Parameter] = []
    bundles: dict[str, tuple[type[Bundle], tuple[str, ...]]] = {}
    for parameter in asked:
        kind = hints[parameter.name]
        if _is_bundle(kind):
            bundles[parameter.name] = (kind, _options(kind))
            plain += _parameters(kind)
        else:
            plain.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=kind))

    def filled(**given: Any) -> Any:
        for name, (bundle, own) in bundles.items():
            given[name] = bundle(**{option: given.pop(option) for option in own})
        return command(**given)

    filled.__doc__, filled.__name__, filled.__module__ = command.__doc__, command.__name__, command.__module__
    filled.__annotations__ = {p.name: p.annotation for p in plain}
    filled.__signature__ = inspect.Signature(plain)  # type: ignore[attr-defined]
    return filled


def _is_bundle(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Bundle)


def _options(bundle: type[Bundle]) -> tuple[str, ...]:
    """By name, those of the classes it is made of first."""
    return tuple(name for one in reversed(bundle.__mro__) for name in inspect.get_annotations(one))


@cache
def _parameters(bundle: type[Bundle]) -> tuple[inspect.Parameter, ...]:
    hints, kind = get_type_hints(bundle, include_extras=True), inspect.Parameter.KEYWORD_ONLY
    return tuple(
        inspect.Parameter(name, kind, default=getattr(bundle, name), annotation=hints[name])
        for name in _options(bundle)
    )
