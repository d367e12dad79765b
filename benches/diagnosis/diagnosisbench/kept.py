"""A kept case: everything that a diagnosis was made of, so that any later one can be made of it again.

Packed JSON (xz) of at most 40 KB. Left out is what no rule can tell apart or looks at: digits beyond the fifth (of
counters beyond the fourth), points of a distribution between others, traces, what the kernel keeps its memory for; of
large stacks a digit more. Counters are kept by name, with a value for each cell, which packs a third better.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from diagnosisbench.trial import Kind, Trial
from strata.model.analysis import Analysis
from strata.model.base import Value
from strata.model.experiment import Tried
from strata.model.finding import Cause, Diagnosis, VerdictKind
from strata.model.stack import Stack

FOLDER = Path(__file__).resolve().parents[1] / "cases"
MOST_BYTES = 40_000
ENDING = ".json.xz"
UNREAD = (
    "blockdev_discard",
    "clock_offset_seconds",
    "cpu_frequency_hz",
    "filesystem_",
    "memory_bytes",
    "pages",
    "softirqs",
    "softnet_packets",
)
"""How the counters begin that say nothing of what limits."""


@dataclass(frozen=True)
class Detail:
    """How much of a case is kept: digits of figures and of counters, points of a distribution, every so manieth point
    in time (the steadiness that rules look at was told from finer ones)."""

    digits: int
    of_counters: int
    points: int
    every: int


DETAILS = (Detail(5, 4, 16, 1), Detail(4, 3, 12, 4), Detail(4, 3, 6, 4), Detail(3, 2, 6, 4))
"""The first that makes a case small enough is the one that is kept."""
ASKED = (10.0, 50.0, 90.0)
"""Percentiles that rules ask for by name; they are kept whatever else is left out of a distribution."""
COUNTS_FROM = 1.25
"""An impact below it is none that a diagnosis has to find."""


class Proof(Value):
    """What an injection did to the cell that it promises to hurt, right before the diagnosis."""

    what: str
    impact: float
    cell: str
    line: str


class Machine(Value):
    """What it was measured on. ``load`` is the average of a minute before and after the diagnosis, ``others`` the share
    of all processors that other processes than the diagnosis used meanwhile."""

    processors: int
    memory_bytes: int
    kernel: str
    load: tuple[float, float]
    others: float


class Said(Value):
    """A finding of the verdict in short. ``holds``: of the experiment that was made of it, if one was."""

    layer: str | None
    cause: Cause
    confidence: float
    holds: bool | None = None


class Verdict(Value):
    """What was said: the kind, and first what was named first."""

    kind: VerdictKind
    headline: str
    said: tuple[Said, ...]
    missing: tuple[str, ...] = ()

    @property
    def first(self) -> Said:
        """What was named first."""
        return self.said[0]


class Case(Value):
    """``failed``: why there is no evidence. ``revision``: of the program that diagnosed, live."""

    version: Literal[1] = Field(default=1, alias="case")
    trial: Trial
    revision: str
    machine: Machine
    proofs: tuple[Proof, ...] = ()
    seconds: float = 0.0
    failed: str | None = None
    verdict: Verdict | None = None
    stack: Stack | None = None
    analysis: Analysis | None = None
    tried: tuple[Tried, ...] = ()

    @property
    def hurts(self) -> bool:
        """Whether everything that was put in is felt, so that the case counts."""
        return len(self.proofs) == len(self.trial.put) and all(p.impact >= COUNTS_FROM for p in self.proofs)

    @property
    def counts(self) -> bool:
        """Whether it is scored."""
        return self.trial.kind is Kind.HEALTHY or self.hurts


def verdict_of(diagnosis: Diagnosis) -> Verdict:
    """In short: the verdict's own line first, then the findings that are not the same one."""
    verdict = diagnosis.verdict
    said = [
        Said(layer=f.layer, cause=f.cause, confidence=f.confidence, holds=f.outcome.holds if f.outcome else None)
        for f in diagnosis.findings
    ]
    first = Said(layer=verdict.layer, cause=verdict.cause, confidence=verdict.confidence)
    if said and (said[0].layer, said[0].cause) == (first.layer, first.cause):
        first, said = said[0].model_copy(update={"confidence": verdict.confidence}), said[1:]
    return Verdict(kind=verdict.kind, headline=verdict.headline, said=(first, *said), missing=verdict.missing)


def load(path: Path) -> Case:
    """Raises `ValueError` for a case of another version, or none."""
    told = json.loads(lzma.decompress(path.read_bytes()))
    for cells in _lists_of_cells(told):
        columns = cells[0].pop("columns") if cells else {}
        for number, cell in enumerate(cells):
            found = {name: values[number] for name, values in columns.items()}
            cell["counters"] = {name: value for name, value in found.items() if value is not None}
            cell["curve"] = _with_what_is_asked(cell["curve"])
    return Case.model_validate(told)


def all_cases(folder: Path = FOLDER) -> Iterator[Case]:
    """Every one, in the order of their names."""
    for path in sorted(folder.glob(f"*{ENDING}")):
        yield load(path)


def save(case: Case, folder: Path = FOLDER) -> Path:
    """Writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{case.trial.name}{ENDING}"
    path.write_bytes(packed_of(case))
    return path


def packed_of(case: Case) -> bytes:
    """The same case gives the same bytes. Of a stack that is too large for the least detail there are more of them."""
    for detail in DETAILS:
        packed = _packed(case, detail)
        if len(packed) <= MOST_BYTES:
            break
    return packed


def _packed(case: Case, detail: Detail) -> bytes:
    told = _short(case.model_dump(mode="json"), detail.digits)
    for cells in _lists_of_cells(told):
        counters = [_short(cell.pop("counters"), detail.of_counters) for cell in cells]
        names = sorted({name for some in counters for name in some if not name.startswith(UNREAD)})
        for cell in cells:
            cell["curve"] = _curve(cell["curve"], detail.points)
            cell["timeline"] = cell["timeline"][:: detail.every]
            cell.pop("traces", None)
            cell.pop("cycles", None)
        if cells:
            cells[0]["columns"] = {name: [some.get(name) for some in counters] for name in names}
    return lzma.compress(json.dumps(told, separators=(",", ":")).encode(), preset=6)


def _lists_of_cells(told: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Those of the analysis, and those that experiments measured."""
    if told["analysis"] is not None:
        yield told["analysis"]["cells"]
    yield [cell for tried in told["tried"] for cell in (tried["reference"], tried["changed"])]


def _curve(curve: list[list[float]], points: int) -> list[list[float]]:
    """Evenly taken, with both ends and everything beyond the 99th percentile."""
    body = [p for p in curve if p[0] < 99]
    step = max(1, -(-len(body) // points))
    return [p for n, p in enumerate(body) if n % step == 0 or p[0] in ASKED] + [p for p in curve if p[0] >= 99]


def _with_what_is_asked(curve: list[list[float]]) -> list[list[float]]:
    """A case of an earlier day may lack percentiles that rules ask for by name: they lie between those it has."""
    have = {p for p, _ in curve}
    lacking = [p for p in ASKED if p not in have and curve and curve[0][0] < p < curve[-1][0]]
    made = [[p, float(np.interp(p, [x for x, _ in curve], [ns for _, ns in curve]))] for p in lacking]
    return sorted([*curve, *made])


def _short(value: Any, digits: int) -> Any:
    """With so many digits as are measured."""
    match value:
        case float():
            near = float(f"{value:.{digits}g}")
            return int(near) if near.is_integer() else near
        case dict():
            return {key: _short(item, digits) for key, item in value.items()}
        case list():
            return [_short(item, digits) for item in value]
    return value
