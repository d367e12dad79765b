"""What is under a path, and a stack file drafted from it."""

from __future__ import annotations

from pathlib import Path

from strata.discover.stackfile import draft
from strata.discover.survey import survey
from strata.errors import RunFailed
from strata.model.survey import Survey


def survey_path(path: Path, load_seconds: float = 0.5) -> Survey:
    """Raises `RunFailed` when the path does not exist."""
    if not path.exists():
        raise RunFailed("cannot survey", str(path), "it does not exist", "name a file or directory that is there")
    return survey(path.resolve(), load_seconds)


def draft_stack(found: Survey, path: Path) -> str:
    """TOML; the data file is named beside (or is) the path."""
    where = path.resolve()
    data = where / "strata.dat" if where.is_dir() else where
    return draft(found, str(data), None)
