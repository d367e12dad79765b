"""The names of what comes with Strata as files, one file or folder each. Read from the disk: nothing is loaded."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path(__file__).parents[1]


def demos() -> tuple[str, ...]:
    """The scenarios of `diagnose --demo`, in alphabetical order, as all of these are."""
    return tuple(sorted(p.parent.name for p in (_ROOT / "lab" / "scenarios").glob("*/truth.toml")))


def profiles() -> tuple[str, ...]:
    """The profiles that come with Strata."""
    return toml_names(_ROOT / "plan" / "profiles")


def stacks() -> tuple[str, ...]:
    """The stacks that a lab can build; the folder ``block_share`` is written block-share."""
    return tuple(sorted(p.parent.name.replace("_", "-") for p in (_ROOT / "lab" / "stacks").glob("*/build.py")))


def injections() -> tuple[str, ...]:
    """The causes that can be put into a lab; ``slow_medium.py`` is written slow-medium."""
    stems = (p.stem for p in (_ROOT / "lab" / "inject").glob("*.py"))
    return tuple(sorted(stem.replace("_", "-") for stem in stems if not stem.startswith("_")))


def toml_names(folder: Path) -> tuple[str, ...]:
    """The names of the ``.toml`` files of a folder; none where there is no folder."""
    return tuple(sorted(p.stem for p in folder.glob("*.toml")))
