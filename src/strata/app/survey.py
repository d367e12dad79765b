"""What is under a path, and a stack file drafted from it."""

from __future__ import annotations

from pathlib import Path

from strata.app.naming import local, missing
from strata.app.stacks import data_path_of, elsewhere, read_stack
from strata.discover.stackfile import draft
from strata.discover.survey import survey
from strata.model.stack import Stack
from strata.model.survey import Notice, Severity, Survey


def survey_path(path: Path | Stack, load_seconds: float = 0.5) -> Survey:
    """Of a stack or its file: what is under its data, and a notice for each node that is another machine.

    Raises `UsageError` when the path does not exist.
    """
    if isinstance(path, Stack):
        stack = path
    else:
        path = local(path)
        if not path.exists():
            raise missing(path, "survey")
        if path.suffix != ".toml" or path.is_dir():
            return survey(path.resolve(), load_seconds)
        stack = read_stack(path)
    found = survey(data_path_of(stack).resolve(), load_seconds)
    far = tuple(
        Notice(
            severity=Severity.INFO,
            code="another-machine",
            what=f"Not all of {stack.name} is on this machine.",
            why=f"{why}.",
        )
        for why in elsewhere(stack)
    )
    return found.model_copy(update={"notices": (*found.notices, *far)})


def draft_stack(found: Survey, path: Path) -> str:
    """TOML; the data file is named beside (or is) the path."""
    where = local(path).resolve()
    data = where / "strata.dat" if where.is_dir() else where
    return draft(found, str(data), None)
