"""A kept watching: the trial, its load, what the load felt, and all the evidence, packed (xz): it can be judged
again.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any, Literal

from diagnosisbench.kept import COUNTS_FROM, ENDING, Machine, Said, Verdict
from diagnosisbench.trial import Trial
from pydantic import Field

from strata.model.base import Value
from strata.model.finding import Finding
from strata.model.finding import Verdict as Told
from strata.model.stack import Stack
from strata.model.watch import Observed

FOLDER = Path(__file__).resolve().parents[1] / "cases"
UNENDED = "it was begun and did not end"


class WatchCase(Value):
    """``felt``: how many times slower the load was for what was put in; None: nothing was. ``verdict``: as it was
    said.
    """

    version: Literal[1] = Field(default=1, alias="case")
    trial: Trial
    load: str
    revision: str
    machine: Machine | None = None
    felt: float | None = None
    seconds: float = 0.0
    failed: str | None = UNENDED
    verdict: Verdict | None = None
    observed: Observed | None = None

    @property
    def counts(self) -> bool:
        """Whether it is scored: all but what was put in and is not felt by this load."""
        return self.felt is None or self.felt >= COUNTS_FROM

    @property
    def stack(self) -> Stack | None:
        """The lab's."""
        return None if self.observed is None else self.observed.stack


def verdict_of(told: Told, findings: tuple[Finding, ...]) -> Verdict:
    """In short, as the cases of diagnoses have it: what is named first, then further findings that are told."""
    first = Said(layer=told.layer, cause=told.cause, confidence=told.confidence)
    rest = tuple(
        Said(layer=f.layer, cause=f.cause, confidence=f.confidence)
        for f in findings
        if f.confidence >= 0.5 and (f.layer, f.cause) != (told.layer, told.cause)
    )
    return Verdict(kind=told.kind, headline=told.headline, said=(first, *rest), missing=told.missing)


def path_of(trial: Trial, folder: Path = FOLDER) -> Path:
    """Of its file."""
    return folder / f"{trial.name}{ENDING}"


def save(case: WatchCase, folder: Path = FOLDER) -> Path:
    """Written whole; a trial is kept from its beginning, and what came of it replaces that."""
    folder.mkdir(parents=True, exist_ok=True)
    path = path_of(case.trial, folder)
    told = _short(case.model_dump(mode="json"))
    path.write_bytes(lzma.compress(json.dumps(told, separators=(",", ":")).encode(), preset=9 | lzma.PRESET_EXTREME))
    return path


def load(path: Path) -> WatchCase:
    """Raises `ValueError` for a case of another version, or none."""
    return WatchCase.model_validate_json(lzma.decompress(path.read_bytes()))


def _short(value: Any, digits: int = 5) -> Any:
    match value:
        case float():
            near = float(f"{value:.{digits}g}") if abs(value) < 1e9 else value
            return int(near) if near.is_integer() else near
        case dict():
            return {key: _short(item, digits) for key, item in value.items()}
        case list():
            return [_short(item, digits) for item in value]
    return value
