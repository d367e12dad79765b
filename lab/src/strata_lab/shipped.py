"""The names of what a lab can be made of, one file or folder each. Read from the disk, once: nothing is loaded."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parent


@cache
def stacks() -> tuple[str, ...]:
    """The stacks that can be built, in alphabetical order; the folder ``block_share`` is written block-share."""
    return tuple(sorted(p.parent.name.replace("_", "-") for p in (_ROOT / "stacks").glob("*/build.py")))


@cache
def injections() -> tuple[str, ...]:
    """The causes that can be put in, likewise; ``slow_medium.py`` is written slow-medium."""
    stems = (p.stem for p in (_ROOT / "inject").glob("*.py"))
    return tuple(sorted(stem.replace("_", "-") for stem in stems if not stem.startswith("_")))
