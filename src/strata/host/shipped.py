"""The names of what comes with Strata as files, one file or folder each. Read from the disk: nothing is loaded."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path(__file__).parents[1]


def demos() -> tuple[str, ...]:
    """The scenarios of `diagnose --demo`, in alphabetical order, as all of these are."""
    return tuple(sorted(p.parent.name for p in (_ROOT / "app" / "demos").glob("*/truth.toml")))


def profiles() -> tuple[str, ...]:
    """The profiles that come with Strata."""
    return toml_names(_ROOT / "plan" / "profiles")


def toml_names(folder: Path) -> tuple[str, ...]:
    """The names of the ``.toml`` files of a folder; none where there is no folder."""
    return tuple(sorted(p.stem for p in folder.glob("*.toml")))
