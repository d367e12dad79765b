"""Labs for the command line: build, remove, look, go inside."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from strata.errors import StrataError, UsageError
from strata.host import process
from strata_lab import inject, joined, prove, shipped, sizes, stacks
from strata_lab import up as _up
from strata_lab.client import inside
from strata_lab.down import down as _down
from strata_lab.lab import Lab
from strata_lab.ledger import Ledger, names
from strata_lab.selftest import SelftestOutcome, TrialVerdict, selftest, trials
from strata_lab.status import LabState, all_labs, lab_state

__all__ = [
    "LabState",
    "SelftestOutcome",
    "TrialVerdict",
    "all_labs",
    "down",
    "enter",
    "grow",
    "known",
    "of_stack",
    "one_lab",
    "put_in",
    "resize",
    "selftest",
    "shrink",
    "spread",
    "state",
    "trials",
    "up",
]

Say = Callable[[str], None]


def up(
    stack: str, name: str | None, settings: Sequence[str], injections: Sequence[str], say: Say, *, nodes: bool
) -> LabState:
    """Builds a lab. ``settings`` are ``option=value`` of the stack; the name is ``lab`` unless told."""
    words: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError("cannot use the setting", repr(setting), "no =", "--set fs=xfs")
        words[key] = value
    return lab_state(_up.up(stack, name or "lab", words, injections, say, nodes=nodes))


def put_in(name: str | None, word: str, say: Say) -> LabState:
    """Puts one more limit into a lab that is up, and holds it to its word."""
    lab = Lab.open(one_lab(name))
    asked = inject.parse(word)
    with lab.ledger.locked():
        prove.put_in(lab, asked, say)
    return lab_state(lab)


def one_lab(name: str | None) -> str:
    """The name, or that of the only lab there is. Raises `UsageError` when that is not one."""
    if name is not None:
        return Ledger(name).name
    found = names()
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError("there is no lab", "", "", "strata lab up local")
    raise UsageError("which lab", "", f"there are {', '.join(found)}", f"--name {found[0]}")


def down(name: str | None, everything: bool, say: Say) -> tuple[str, ...]:
    """Removes one lab, or all; their names. One that cannot be removed does not keep the others: it is raised last."""
    if not everything:
        wanted = one_lab(name)
        _down(Lab.open(wanted), say)
        return (wanted,)
    gone, failed = [], []
    for wanted in names():
        try:
            _down(Lab.open(wanted), say)
            gone.append(wanted)
        except StrataError as e:
            failed.append(e)
    for earlier in failed[:-1]:
        say(earlier.render())
    if failed:
        say(f"removed: {', '.join(gone) or 'none'}")
        raise failed[-1]
    return tuple(gone)


def grow(name: str | None) -> str:
    """One node more in a running lab; its name. Raises `UsageError` for a stack that cannot grow."""
    lab = Lab.open(one_lab(name))
    with lab.ledger.locked():
        grown = stacks.grow(lab)
        joined.join_one(lab, lab.node(grown))
        return grown


def shrink(name: str | None) -> str:
    """One node fewer in a running lab; its name. Raises `UsageError` for a stack that cannot shrink."""
    lab = Lab.open(one_lab(name))
    with lab.ledger.locked():
        return stacks.shrink(lab)


def resize(name: str | None, what: str, many: int, *, as_is: bool = False) -> str:
    """So many of something in a running lab; the lab's name. ``as_is``: its disks stay as fast as they are meanwhile.
    Raises `UsageError` for what its stack has not."""
    lab = Lab.open(one_lab(name))
    with lab.ledger.locked():
        sizes.resize(lab, what, many, as_is=as_is)
    return lab.name


def spread(name: str | None) -> Mapping[str, int]:
    """Bytes of data on each node of a running lab. Raises `UsageError` for a stack that does not tell."""
    lab = Lab.open(one_lab(name))
    return sizes.spread(lab)


def of_stack(path: str) -> Lab | None:
    """The lab that wrote this stack file."""
    there = os.path.realpath(path)
    for name in names():
        fact = (lab := Lab.open(name)).last_fact("stack")
        if fact is not None and os.path.realpath(fact["path"]) == there:
            return lab
    return None


def state(name: str | None) -> LabState:
    """How the lab stands."""
    return lab_state(Lab.open(one_lab(name)))


def enter(name: str | None, node: str, command: Sequence[str]) -> NoReturn:
    """This process becomes ``command`` (none: the user's shell) in that node of the lab."""
    lab = Lab.open(one_lab(name))
    words = inside(lab, lab.node(node), list(command) or [os.environ.get("SHELL", "/bin/sh")])
    try:
        process.become_users(words)
    except FileNotFoundError as e:
        raise UsageError("cannot run", words[0], "there is no such program") from e


def known() -> tuple[Mapping[str, str], tuple[str, ...]]:
    """The stacks there are with one line about each, and the injections."""
    return {name: stacks.builder(name).TITLE for name in shipped.stacks()}, shipped.injections()
