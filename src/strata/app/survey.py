"""What is under a path, and a stack file drafted from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from strata.app.documents import read_document
from strata.app.stacks import asked_of, data_path_of, elsewhere, read_stack
from strata.app.where import existing, local
from strata.discover.stackfile import draft
from strata.discover.survey import survey
from strata.errors import UsageError
from strata.model.stack import Stack
from strata.model.survey import Notice, Severity, Survey
from strata.model.survey_compared import ComparedSurveys


def survey_path(path: Path | str | Stack, load_seconds: float = 0.5) -> Survey:
    """Of a stack or its file: what is under its data, and a notice for each node that is another machine.

    Raises `UsageError` when the path does not exist.
    """
    if isinstance(path, Stack):
        stack = path
    else:
        path = existing(path, "survey")
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


def compare_surveys(where: Sequence[Path | str], nodes: str | None = None) -> ComparedSurveys:
    """Of two or more: documents of ``strata survey --json`` (``.json``), and paths of this machine, surveyed now.

    With ``nodes``, the address of a scheduler, or of one stack file that names its own: the nodes of that stack, each
    surveyed by itself now. Raises `UsageError` for fewer than two, and for a document of something else.
    """
    stack = read_stack(Path(where[0])) if len(where) == 1 and Path(where[0]).suffix == ".toml" else None
    if nodes is not None and stack is None:
        why = "the nodes of one stack file are surveyed"
        raise UsageError("cannot use --nodes with", ", ".join(map(str, where)), why, "give the stack file alone")
    stack = None if stack is None else asked_of(stack, nodes)
    if stack is not None and stack.scheduler is not None:
        # Here: the cluster's library takes more than a second to load.
        from strata.analyse.platform import compare_surveys as compared
        from strata.app.driven.opening import surveyed

        return compared(surveyed(stack))
    if len(where) < 2:
        raise UsageError(
            "cannot compare surveys:", f"{len(where)} given", "two or more nodes are compared",
            "on each node: strata survey PATH --json > NODE.json; then strata survey --compare *.json",
        )  # fmt: skip
    # Here: the room of statistics loads libraries that a survey of one node needs none of.
    from strata.analyse.platform import compare_surveys as compared

    return compared([_read(Path(one)) if Path(one).suffix == ".json" else survey_path(one) for one in where])


def _read(path: Path) -> Survey:
    found = read_document(path)
    if not isinstance(found, Survey):
        what = getattr(found, "schema_version", "another document")
        raise UsageError(
            "cannot compare surveys:", str(path), f"it is {what}", "give what strata survey --json printed"
        )
    return found


def draft_stack(found: Survey, path: Path | str) -> str:
    """TOML; the data file is named beside (or is) the path."""
    where = local(path).resolve()
    data = where / "strata.dat" if where.is_dir() else where
    return draft(found, str(data), None)
