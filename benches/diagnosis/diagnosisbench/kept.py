"""A kept case: everything that a diagnosis was made of, so that any later one can be made of it again.

Packed JSON (xz) of at most 40 KB. Left out is what no rule can tell apart or looks at: digits beyond the fifth (of
counters beyond the fourth), cycles, counters that nobody asks for; of large stacks a digit more, points of
the distributions, and the rates in time, of which the steadiness was told before. Cells and counters are kept by name,
with a value for each cell, which packs a third better.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from diagnosisbench.trial import Trial
from strata.errors import UsageError
from strata.model.analysis import Analysis
from strata.model.base import Value
from strata.model.experiment import Tried
from strata.model.finding import Cause, Diagnosis, VerdictKind
from strata.model.stack import Stack

FOLDER = Path(__file__).resolve().parents[1] / "cases"
MOST_BYTES = 40 << 10
ENDING = ".json.xz"
HEAD_BYTES = 8 << 10
"""Of the unpacked text: a trial is a few hundred of them."""
ALL_FROM = 99
COUNTER, ABSENT = "counter ", "-"
"""How a counter's column begins, and what stands in it for a cell that has no such value."""
UNREAD = (
    "blockdev_discard",
    "blockdev_read_merges",
    "blockdev_write_merges",
    "clock_offset_seconds",
    "cpu_frequency_hz",
    "filesystem_",
    "memory_bytes",
    "pages",
    "pressure_",
    "qdisc_bytes",
    "qdisc_packets",
    "qdisc_requeues",
    "smbd_bytes",
    "softirqs",
    "net_packets",
    "server_read_bytes",
    "server_resident_bytes",
    "server_switches",
    "server_written_bytes",
    "softnet_packets",
    "tcp_cwnd",
    "tcp_rtt_variation_seconds",
    "tcp_sender_limited_seconds",
    "tcp_unacked",
    "tcp_unsent_bytes",
)
"""How the counters begin that say nothing of what limits."""


@dataclass(frozen=True)
class Detail:
    """How much of a case is kept: digits of figures and of counters, every so manieth percentile (all from the 99th
    on), and whether what only a report shows."""

    digits: int
    of_counters: int
    percentile: int
    shown: bool


DETAILS = (
    Detail(5, 4, 1, True),
    Detail(4, 3, 5, True),
    Detail(4, 3, 10, False),
    Detail(3, 2, 10, False),
    Detail(3, 2, 20, False),
)
"""The first that makes a case small enough is the one that is kept."""
COUNTS_FROM = 1.25
"""An impact below it is none that a diagnosis has to find."""
UNENDED = "it was begun and did not end"


class Proof(Value):
    """What an injection did to the cell that it promises to hurt, right before the diagnosis."""

    what: str
    impact: float
    cell: str
    line: str


class Machine(Value):
    """What it was measured on. ``load`` is the average of a minute before and after the diagnosis, ``others`` the share
    of all processors that other processes than the diagnosis used meanwhile, ``stolen`` the share that a hypervisor
    kept for itself. ``beside``: whether what ran beside the diagnosis did so to its end; None: nothing was to."""

    processors: int
    memory_bytes: int
    kernel: str
    load: tuple[float, float]
    others: float
    stolen: float | None = Field(default=None, exclude_if=lambda share: share is None)
    beside: bool | None = Field(default=None, exclude_if=lambda ran: ran is None)


class Said(Value):
    """A finding of the verdict in short. ``holds``: of the experiment that was made of it, if one was.

    ``as_finding``: the confidence that the finding has by itself, where the verdict is less sure.
    """

    layer: str | None
    cause: Cause
    confidence: float
    holds: bool | None = None
    as_finding: float | None = Field(default=None, exclude_if=lambda sure: sure is None)

    @property
    def most(self) -> float:
        """The greatest confidence that a reader sees beside it."""
        return max(self.confidence, self.as_finding or 0.0)


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


class Earlier(Value):
    """What came of a trial when it was measured before, without its evidence."""

    revision: str
    machine: Machine
    seconds: float
    proofs: tuple[Proof, ...] = ()
    failed: str | None = None
    verdict: Verdict | None = None


class Case(Value):
    """``failed``: why there is no verdict. ``revision``: of the program that diagnosed, live; ``-dirty`` where it was
    changed since. ``ended``: False while it is measured, and for ever when that was stopped. ``earlier``: what came of
    it before, the first first, when it was measured again."""

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
    ended: bool = Field(default=True, exclude_if=lambda ended: ended)
    earlier: tuple[Earlier, ...] = Field(default=(), exclude_if=lambda some: not some)

    @property
    def counts(self) -> bool:
        """Whether it is scored: all but what was put in and is not felt. What failed on the way to a verdict counts."""
        return all(p.impact >= COUNTS_FROM for p in self.proofs)

    @property
    def in_short(self) -> Earlier:
        """As it is kept in a case that was measured again."""
        return Earlier.model_validate({name: getattr(self, name) for name in Earlier.model_fields})


def verdict_of(diagnosis: Diagnosis) -> Verdict:
    """In short: the verdict's own line first, then the findings that are not the same one."""
    verdict = diagnosis.verdict
    said = [
        Said(layer=f.layer, cause=f.cause, confidence=f.confidence, holds=f.outcome.holds if f.outcome else None)
        for f in diagnosis.findings
    ]
    first = Said(layer=verdict.layer, cause=verdict.cause, confidence=verdict.confidence)
    if said and (said[0].layer, said[0].cause) == (first.layer, first.cause):
        surer = said[0].confidence if said[0].confidence > verdict.confidence else None
        first = said[0].model_copy(update={"confidence": verdict.confidence, "as_finding": surer})
        said = said[1:]
    return Verdict(kind=verdict.kind, headline=verdict.headline, said=(first, *said), missing=verdict.missing)


NO_VERDICT = Verdict(
    kind=VerdictKind.INCONCLUSIVE, headline="", said=(Said(layer=None, cause=Cause.NONE, confidence=0),)
)
"""What a trial that failed is held to have said."""


def trial_of(path: Path) -> Trial:
    """The trial of a kept case. It stands at the head: the evidence behind it is not unpacked."""
    head = lzma.LZMADecompressor().decompress(path.read_bytes(), max_length=HEAD_BYTES).decode(errors="ignore")
    _, _, rest = head.partition('"trial":')
    return Trial.model_validate(json.JSONDecoder().raw_decode(rest)[0])


def load(path: Path) -> Case:
    """Raises `ValueError` for a case of another version, or none."""
    told = json.loads(lzma.decompress(path.read_bytes()))
    for holder, key in _places_of_cells(told):
        holder[key] = _rows(holder[key])
    if told["analysis"] is not None:
        sides = iter(told.pop("sides"))
        for tried in told["tried"]:
            tried["reference"], tried["changed"] = next(sides), next(sides)
    return Case.model_validate(told)


def all_cases(folder: Path = FOLDER) -> Iterator[Case]:
    """Every one, in the order of their names."""
    for path in sorted(folder.glob(f"*{ENDING}")):
        yield load(path)


def begin(case: Case, folder: Path = FOLDER, again: bool = False) -> Case:
    """Keeps it as begun, before anything is built: a trial that is killed leaves this, which counts as a miss.

    A trial that has a case is refused (`UsageError`), unless it is to be measured ``again``: then what is returned
    holds what came of it before.
    """
    path = folder / f"{case.trial.name}{ENDING}"
    case = case.model_copy(update={"ended": False, "failed": UNENDED})
    if path.exists():
        if not again:
            raise _has_a_case(case)
        before = load(path)
        case = case.model_copy(update={"earlier": (*before.earlier, before.in_short)})
        path.unlink()
    _write(case, path)
    return case


def save(case: Case, folder: Path = FOLDER) -> Path:
    """Writes it, in place of what `begin` kept of it. Never over another case: `UsageError`."""
    path = folder / f"{case.trial.name}{ENDING}"
    if path.exists():
        if load(path).ended:
            raise _has_a_case(case)
        path.unlink()
    _write(case.model_copy(update={"ended": True}), path)
    return path


def _write(case: Case, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        file.write(packed_of(case))


def _has_a_case(case: Case) -> UsageError:
    why = "a trial is measured once: what came of it first is what counts"
    return UsageError("there is a case of", case.trial.name, why, f"--again {case.trial.name} keeps both")


def packed_of(case: Case) -> bytes:
    """The same case gives the same bytes. Of a stack that is too large for the least detail there are more of them."""
    for detail in DETAILS:
        packed = _packed(case, detail)
        if len(packed) <= MOST_BYTES:
            break
    return packed


def _packed(case: Case, detail: Detail) -> bytes:
    told = _short(case.model_dump(mode="json"), detail.digits)
    if told["analysis"] is not None:
        told["sides"] = [tried.pop(side) for tried in told["tried"] for side in ("reference", "changed")]
    for holder, key in _places_of_cells(told):
        for cell in holder[key]:
            _thin(cell, detail)
        holder[key] = _columns(holder[key])
    return lzma.compress(json.dumps(told, separators=(",", ":")).encode(), preset=9 | lzma.PRESET_EXTREME)


def _places_of_cells(told: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Where those of the analysis are, and those that experiments measured."""
    if told["analysis"] is not None:
        yield told["analysis"], "cells"
        yield told, "sides"


def _thin(cell: dict[str, Any], detail: Detail) -> None:
    kept = {name: value for name, value in cell["counters"].items() if not name.startswith(UNREAD)}
    cell["counters"] = _short(kept, detail.of_counters)
    cell["curve"] = [p for p in cell["curve"] if p[0] % detail.percentile == 0 or p[0] >= ALL_FROM]
    for name in ("cycles",) if detail.shown else ("cycles", "timeline", "caching", "notes", "absent", "splits"):
        cell.pop(name, None)
    if not cell.get("traces"):
        cell.pop("traces", None)


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Each field with its value in every row; ``ABSENT`` where a row has none. Counters as fields of their own."""
    flat = [{**{k: v for k, v in row.items() if k != "counters"}, **_named(row["counters"])} for row in rows]
    return {name: [row.get(name, ABSENT) for row in flat] for name in dict.fromkeys(n for row in flat for n in row)}


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"counters": {}} for _ in next(iter(columns.values()), [])]
    for name, values in columns.items():
        for row, value in zip(rows, values, strict=True):
            if value != ABSENT:
                counter = name.startswith(COUNTER)
                (row["counters"] if counter else row)[name.removeprefix(COUNTER) if counter else name] = value
    return rows


def _named(counters: dict[str, Any]) -> dict[str, Any]:
    return {f"{COUNTER}{name}": counters[name] for name in sorted(counters)}


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
