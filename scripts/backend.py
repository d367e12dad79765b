"""What pip builds Strata with: maturin, for which the lab of a checkout is the folder beside.

``pip install '.[lab]'`` would ask an index for `strata-lab`, and take whatever has that name there. In a checkout the
extra means `lab/`. An sdist has no such folder, and `maturin build` does not come by here: what is made of these names
the version, as pyproject.toml does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import maturin
from maturin import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

LAB = Path(__file__).resolve().parent.parent / "lab"


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Mapping[str, Any] | None = None) -> str:
    """Maturin's, which `build_wheel` then puts into the wheel, with the lab of this checkout."""
    info = maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)
    if (LAB / "pyproject.toml").exists():
        path = Path(metadata_directory, info, "METADATA")
        here = f"Requires-Dist: strata-lab @ {LAB.as_uri()}"
        path.write_text(re.sub(r"^Requires-Dist: strata-lab\b[^;\n]*", f"{here} ", path.read_text(), flags=re.M))
    return info


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel
