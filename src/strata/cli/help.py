"""How help looks: options in groups where there are many, and examples at the end of every command's."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from strata.cli.bundle import unbundled
from strata.cli.examples import EXAMPLES, Example
from strata.model.workload_options import BLOCKS, DURABILITY, OPTIONS, PACE, PATTERN
from strata.text.output import shown
from strata.text.plain import written

MANY = 20
"""A command with more options than these shows them in `GROUPS`."""

_GROUPS: dict[str, str] = {
    PATTERN: "demo order write_share profile job from_trace write_profile matrix run layers workloads read_only share "
    "target shares deal nodes over points worth open_loop what_if make now task under_load layer verify spread "
    "table column resume check",
    BLOCKS: "sector seed",
    PACE: "",
    "Test file and safety": "size keep destructive",
    "Duration and precision": "rounds passes runtime ramp interval until until_percentile until_min until_bytes "
    "budget cooldown stuck_after",
    DURABILITY: "flush_every precondition precondition_bytes journal journal_sync power_loss atomic",
    "Load generator and experiments": "engine cpus numa_node trace confirm",
    "Output": "counters html markdown csv jsonl json verbose listed progress name note store help",
}
GROUPS = {
    heading: [row.parameter for row in OPTIONS.values() if row.spellings and row.group == heading] + names.split()
    for heading, names in _GROUPS.items()
}
"""The parameters of each group, of all commands, in the order in which they are shown."""


class _WithExamples:
    """Help of either kind, ending with examples. Arguments are in capitals, as the texts and the guide say them."""

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:
        """What follows the name of the command in its usage."""
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        said = {f"[{p.name}]": f"[{_called(p)}]" for p in _arguments(self, ctx)}
        said |= {f"{{{p.name}}}": _called(p) for p in _arguments(self, ctx)}
        return [said.get(bare := piece.removesuffix("..."), bare) + piece[len(bare) :] for piece in pieces]

    def sections(self, ctx: typer.Context) -> list[tuple[str, list[tuple[str, str]]]]:
        """What the help lists, each row with its meaning, under the headings that it has there."""
        return _sections(self, ctx)

    def get_help(self, ctx: typer.Context) -> str:
        """The help in words that standard output can write: the library has a door of its own."""
        return written(shown(super().get_help(ctx)))  # type: ignore[misc]

    def format_epilog(self, ctx: typer.Context, formatter: Any) -> None:
        """Writes the examples last."""
        super().format_epilog(ctx, formatter)  # type: ignore[misc]
        with formatter.section("Examples"):
            for line, meaning in EXAMPLES.get(path_of(ctx), ()):
                formatter.write(f"  # {meaning}\n  {line}\n")


class HelpCommand(_WithExamples, TyperCommand):  # type: ignore[misc]
    """A command whose help is in groups and ends with examples."""

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Writes the arguments, and the options in groups where there are many."""
        for heading, rows in self.sections(ctx):
            _section(formatter, heading, rows)


class Group(_WithExamples, TyperGroup):  # type: ignore[misc]
    """A group of commands whose help ends with examples."""

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Writes the options, and the commands."""
        for heading, rows in self.sections(ctx):
            _section(formatter, heading, rows)
        self.format_commands(ctx, formatter)


class Commands(typer.Typer):
    """A Typer application of `HelpCommand` in `Group`; plain text, because what draws help takes long to load."""

    def __init__(
        self, name: str, help: str, *, bare: bool = False, examples: Mapping[str, tuple[Example, ...]] | None = None,
        **more: Any,
    ) -> None:  # fmt: skip
        """``bare``: it does something without a command too. ``examples`` of a package beside this one."""
        EXAMPLES.update(examples or {})
        names = {"help_option_names": ["-h", "--help"]}
        super().__init__(
            name=name, help=help, cls=Group, context_settings=names, no_args_is_help=not bare, rich_markup_mode=None,
            **more,
        )  # fmt: skip

    def command(self, name: str | None = None, **more: Any) -> Callable[[Any], Any]:
        """Typer's, for a `HelpCommand` that may take bundles of options."""
        taken = super().command(name, cls=HelpCommand, **more)

        def declared(command: Callable[..., Any]) -> Callable[..., Any]:
            taken(unbundled(command))
            return command

        return declared


def path_of(ctx: typer.Context) -> str:
    """The command as one says it, without the program: ``lab up``; empty for the program itself."""
    names = []
    at: Any = ctx
    while at.parent is not None:
        names.append(str(at.info_name))
        at = at.parent
    return " ".join(reversed(names))


def _arguments(command: Any, ctx: typer.Context) -> list[Any]:
    return [p for p in command.get_params(ctx) if p.param_type_name == "argument"]


def _called(argument: Any) -> str:
    return str(argument.name).upper()


def _sections(command: Any, ctx: typer.Context) -> list[tuple[str, list[tuple[str, str]]]]:
    every = [(p, record) for p in command.get_params(ctx) if (record := p.get_help_record(ctx)) is not None]
    arguments = [
        (_called(p) + "..." * (p.nargs != 1), meaning) for p, (_, meaning) in every if p.param_type_name == "argument"
    ]
    options = {str(p.name): (_plain(name), meaning) for p, (name, meaning) in every if p.param_type_name == "option"}
    found = [("Arguments", arguments)]
    for heading, names in GROUPS.items() if len(options) > MANY else ():
        found.append((heading, [options.pop(name) for name in names if name in options]))
    return [*found, ("Options", list(options.values()))]


def _plain(option: str) -> str:
    """The option with its kind of value as people call it: the library says it in Python's words."""
    kinds = {"str": "text", "int": "number", "float": "number", "int range": "number", "float range": "number"}
    return re.sub(r"<(?:list\[(.*)\]|(.*?))>", lambda m: f"<{kinds.get(m[1] or m[2], m[1] or m[2])}>", option)


def _section(formatter: Any, heading: str, rows: list[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(heading):
            formatter.write_dl(rows)
