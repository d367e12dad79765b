"""What a lab can have more or less of while it runs: a stack's ``build.py`` lists it in ``SIZES``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from strata.errors import UsageError, choices
from strata_lab import shipped, stacks
from strata_lab.lab import Lab


@dataclass(frozen=True)
class Sized:
    """``now``: how many there are; ``most``: how many there can be; ``make``: so many from now on, in use meanwhile."""

    now: Callable[[Lab], int]
    most: Callable[[Lab], int]
    make: Callable[[Lab, int], None]


def sizes_of(lab: Lab) -> Mapping[str, Sized]:
    """By the words of ``strata scale --over``."""
    return dict(getattr(stacks.builder(lab.stack), "SIZES", {}))


def resize(lab: Lab, what: str, many: int) -> None:
    """So many of it. Raises `UsageError` where the stack has no such thing, or cannot have so many."""
    known = sizes_of(lab)
    if what not in known:
        able = [n for n in shipped.stacks() if what in getattr(stacks.builder(n), "SIZES", {})]
        hint = f"stacks that have: {', '.join(able)}" if able else choices(what, list(known))
        raise UsageError(f"cannot change the number of {what} in", lab.name, f"the stack {lab.stack} has none", hint)
    most = known[what].most(lab)
    if not 1 <= many <= most:
        raise UsageError(f"cannot make {what}={many} in", lab.name, f"it can have 1 to {most}")
    if many != known[what].now(lab):
        known[what].make(lab, many)
