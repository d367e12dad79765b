"""Text compared with a saved file. ``STRATA_REGENERATE_GOLDEN=1 pytest tests/unit/report`` writes the files anew."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "golden" / "report"


def check(name: str, text: str) -> None:
    path = FOLDER / name
    if os.environ.get("STRATA_REGENERATE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert path.exists(), f"{path.name} is not there; write it with STRATA_REGENERATE_GOLDEN=1"
    assert path.read_text(encoding="utf-8") == text + "\n", f"{name} reads differently now"
