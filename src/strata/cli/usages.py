"""The ways a command is used, and the options each way takes: from one table a command come all refusals.

An option that a way cannot honour is refused with the ways that can, and never dropped. A new option that no way of a
table takes is refused everywhere, and a test says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import typer

from strata.errors import UsageError

TYPED = "COMMANDLINE"
"""Where click says a value comes from that was typed. What the environment sets is for every command, and is never
refused."""


Parts = tuple[str, ...]
"""What tells one way from the others, in words of a refusal ("one endpoint", "--job"), as many for each way."""


@dataclass(frozen=True)
class Usages:
    """All ways of one command, each with the names of the parameters that it honours.

    ``needs``: an option and the ones of which one has to be there for it to mean something; ``apart``: options of which
    one makes the others meaningless.
    """

    ways: Mapping[Parts, frozenset[str]]
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    apart: tuple[tuple[str, ...], ...] = ()

    def check(self, context: typer.Context, *parts: str) -> None:
        """Raises `UsageError` that names every typed option which is not honoured in the way of these parts."""
        takes = self.ways.get(parts)
        if takes is None:
            raise UsageError("cannot use together:", " and ".join(parts), "", f"see {context.command_path} --help")
        words = spellings(context)
        given = typed(context)
        wrong = {name: self._instead(name, words[name], parts) for name in given if name not in takes}
        wrong |= {
            name: f"it needs {_listed(words[n] for n in needed)}"
            for name, needed in self.needs.items()
            if name in given and name not in wrong and not any(n in given for n in needed)
        }
        if wrong:
            _refuse(context, {words[n]: why for n, why in wrong.items()}, self._telling(wrong, parts))
        for group in self.apart:
            if len(both := [n for n in group if n in given]) > 1:
                names = [words[n] for n in both]
                raise UsageError("cannot use together:", " and ".join(names), "", f"leave out {_listed(names)}")

    def _instead(self, name: str, word: str, way: Parts) -> str:
        """What the option goes with, told by what is different there. ``word``: how it is typed."""
        able = [other for other, takes in self.ways.items() if name in takes]
        least = min((_differ(way, other) for other in able), default=0)
        near = [other for other in able if _differ(way, other) == least]
        different = (tuple(p for p, mine in zip(o, way, strict=True) if p != mine) for o in near)
        # Where several things differ, the first says enough. An option that is itself the difference stands against.
        words = [d for d in dict.fromkeys(d[0] for d in different) if d != word]
        return f"it applies only to {_listed(words)}" if words else "they exclude each other"

    def _telling(self, names: Iterable[str], way: Parts) -> str:
        """The parts of the way that stand against the options; all of them where none does by itself."""
        near = [o for name in names for o, takes in self.ways.items() if name in takes and _differ(way, o) == 1]
        against = [p for i, p in enumerate(way) if any(o[i] != p for o in near)]
        return " and ".join(against or way)


def _refuse(context: typer.Context, wrong: Mapping[str, str], against: str) -> None:
    names = _listed(wrong, "and")
    said = tuple(f"{name}: {why}" for name, why in wrong.items())
    one = len(wrong) == 1
    raise UsageError(
        f"cannot use {names} with",
        against,
        next(iter(wrong.values())) if one else "",
        f"leave {'it' if one else 'them'} out, or see {context.command_path} --help",
        () if one else said,
    )


def typed(context: typer.Context) -> list[str]:
    """The names of the parameters that were typed, in the order in which the command has them."""
    names = (p.name for p in context.command.params if p.name is not None)
    return [n for n in names if getattr(context.get_parameter_source(n), "name", None) == TYPED]


def spellings(context: typer.Context) -> Mapping[str, str]:
    """How each parameter is typed: ``--numjobs``, or ``NAME`` for an argument."""
    known = (p for p in context.command.params if p.name is not None)
    return {str(p.name): p.opts[0] if p.opts[0].startswith("-") else str(p.name).upper() for p in known}


def _differ(one: Parts, other: Parts) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))


def _listed(words: Iterable[str], joint: str = "or") -> str:
    *most, last = words
    return f"{', '.join(most)} {joint} {last}" if most else last
