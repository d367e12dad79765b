"""What a lab can have more or less of while it runs: a stack's ``build.py`` lists it in ``SIZES``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from strata.errors import UsageError, choices
from strata_lab import shipped, stacks
from strata_lab.lab import Lab


@dataclass(frozen=True)
class Sized:
    """``now``: how many there are; ``most``: how many there can be; ``make``: so many from now on, in use meanwhile.

    ``as_is``: the same, and whoever uses the disks meanwhile has them as fast as they are; None: ``make`` leaves them.
    ``spread``: bytes of data by the name of what holds them. ``spare``: an endpoint on the same storage that nothing
    else uses.
    """

    now: Callable[[Lab], int]
    most: Callable[[Lab], int]
    make: Callable[[Lab, int], None]
    as_is: Callable[[Lab, int], None] | None = None
    spread: Callable[[Lab], Mapping[str, int]] | None = None
    spare: Callable[[Lab], str | None] | None = None


def sizes_of(lab: Lab) -> Mapping[str, Sized]:
    """By the words of ``strata scale --over``."""
    return dict(getattr(stacks.builder(lab.stack), "SIZES", {}))


def resize(lab: Lab, what: str, many: int, *, as_is: bool = False) -> None:
    """So many of it. Raises `UsageError` where the stack has no such thing, or cannot have so many."""
    known = sizes_of(lab)
    if what not in known:
        able = [n for n in shipped.stacks() if what in getattr(stacks.builder(n), "SIZES", {})]
        hint = f"stacks that have: {', '.join(able)}" if able else choices(what, list(known))
        raise UsageError(f"cannot change the number of {what} in", lab.name, f"the stack {lab.stack} has none", hint)
    most = known[what].most(lab)
    if not 1 <= many <= most:
        raise UsageError(f"cannot make {what}={many} in", lab.name, f"it can have 1 to {most}")
    one = known[what]
    if many != one.now(lab):
        make = one.as_is if as_is and one.as_is is not None else one.make
        make(lab, many)


def spread(lab: Lab) -> Mapping[str, int]:
    """Where the data is. Raises `UsageError` where the stack does not tell."""
    told = next((one.spread for one in sizes_of(lab).values() if one.spread is not None), None)
    if told is None:
        able = [n for n in shipped.stacks() if any(s.spread for s in getattr(stacks.builder(n), "SIZES", {}).values())]
        why = f"the stack {lab.stack} does not tell"
        raise UsageError("cannot say where the data is in", lab.name, why, f"stacks that do: {', '.join(able)}")
    return told(lab)
