"""``strata lab``: the one door to the lab, a package of its own (`strata_lab`) that need not be installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from strata.cli.help import Commands
from strata.errors import RunFailed

if TYPE_CHECKING:
    from pydantic import BaseModel

    from strata_lab.commands import Resizing


def add_to(app: Commands) -> None:
    """The commands that the lab declares; without the lab, one of its name that says how to get it."""
    try:
        from strata_lab.commands import lab
    except ModuleNotFoundError as e:
        if e.name not in ("strata_lab", "strata_lab.commands"):
            raise
        anything = {"ignore_unknown_options": True, "help_option_names": []}
        app.command("lab", context_settings=anything)(_missing)
    else:
        app.add_typer(lab)


def documents() -> Mapping[str, type[BaseModel]]:
    """What the lab's commands print as JSON, by the names of the documents; nothing without the lab."""
    try:
        from strata_lab.commands import documents as of_the_lab
    except ModuleNotFoundError as e:
        if e.name not in ("strata_lab", "strata_lab.commands"):
            raise
        return {}
    return of_the_lab()


def resizing(stack: str, axis: str) -> Resizing | None:
    """How the lab whose stack file this is makes so many of ``axis``; None where it is none of a lab's, or cannot."""
    try:
        from strata_lab.commands import resizing as of_the_lab
    except ModuleNotFoundError as e:
        if e.name not in ("strata_lab", "strata_lab.commands"):
            raise
        return None
    return of_the_lab(stack, axis)


def _missing(words: Annotated[list[str] | None, typer.Argument(help="A command of the lab.")] = None) -> None:
    """Not installed: pip install 'strata[lab]' adds real multi-node storage stacks with known limits."""
    raise RunFailed("cannot run", "strata lab", "the lab is not installed", "pip install 'strata[lab]'")
