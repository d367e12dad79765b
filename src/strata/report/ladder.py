"""The ladder: patterns × layers, each layer compared with the one below. One value, drawn by every output.

A square shows the ratio of IOPS to the layer below; a cell that was measured without anything measured below
it shows its own IOPS; a cell that was not measured says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from strata.model.analysis import CellSummary, Comparison, Equivalence
from strata.model.plan import StepKind
from strata.model.run import Report
from strata.model.workload import Workload

MUCH_SLOWER = 0.5
"""Below half of the layer below it a cell gets the double mark."""


class ResultSign(StrEnum):
    """What the equivalence test says, as one sign (never by colour alone)."""

    SAME = "="
    SLOWER = "▼"
    MUCH_SLOWER = "▼▼"
    FASTER = "▲"
    UNSURE = "?"


MEANING = {
    ResultSign.SAME: "within the allowance",
    ResultSign.SLOWER: "costs more than expected",
    ResultSign.MUCH_SLOWER: "less than half of the layer below",
    ResultSign.FASTER: "faster than the layer below",
    ResultSign.UNSURE: "inconclusive: the difference is within the noise",
}


def mark_of(comparison: Comparison) -> ResultSign:
    """The sign of one comparison."""
    if comparison.verdict is Equivalence.WITHIN:
        return ResultSign.SAME
    if comparison.verdict is Equivalence.FASTER:
        return ResultSign.FASTER
    if comparison.verdict is Equivalence.CANNOT_TELL:
        return ResultSign.UNSURE
    return ResultSign.MUCH_SLOWER if comparison.iops.value < MUCH_SLOWER else ResultSign.SLOWER


@dataclass(frozen=True)
class LadderColumn:
    """A layer, compared with ``below`` (None for a baseline). ``index`` is the layer's place in the stack."""

    layer: str
    below: str | None
    index: int

    @property
    def subtitle(self) -> str:
        """``vs disk`` or ``baseline``."""
        return f"vs {self.below}" if self.below else "baseline"


@dataclass(frozen=True)
class Square:
    """One cell of the table. Without a summary ``why`` says what happened."""

    summary: CellSummary | None = None
    comparison: Comparison | None = None
    why: str | None = None

    @property
    def mark(self) -> ResultSign | None:
        """The sign; None where nothing was compared."""
        return mark_of(self.comparison) if self.comparison else None


@dataclass(frozen=True)
class LadderRow:
    """One workload. ``shape`` holds only what is not common to all rows."""

    workload: Workload
    shape: str
    squares: tuple[Square, ...]

    @property
    def label(self) -> str:
        """``random read · 4 KiB``."""
        return f"{self.workload.pattern} · {self.shape}" if self.shape else self.workload.pattern


@dataclass(frozen=True)
class Ladder:
    """``common`` is the part of the shape that all rows share."""

    common: str
    columns: tuple[LadderColumn, ...]
    rows: tuple[LadderRow, ...]

    @property
    def marks(self) -> tuple[ResultSign, ...]:
        """The signs that occur, in the order of `ResultSign`."""
        used = {s.mark for row in self.rows for s in row.squares}
        return tuple(m for m in ResultSign if m in used)

    def notes(self) -> tuple[str, ...]:
        """Why squares are empty, the same reasons of one layer in one line."""
        reasons: dict[tuple[str, str], list[LadderRow]] = {}
        for row in self.rows:
            for column, square in zip(self.columns, row.squares, strict=True):
                if square.why is not None:
                    rows = reasons.setdefault((column.layer, square.why), [])
                    if row not in rows:
                        rows.append(row)
        everything = [r.workload for r in self.rows]
        return tuple(
            f"{layer}: {why} ({group_words([r.workload for r in rows], everything, [r.label for r in rows])})"
            for (layer, why), rows in reasons.items()
        )


def group_words(some: Sequence[Workload], everything: Sequence[Workload], labels: Sequence[str]) -> str:
    """``every pattern``, ``every pattern that writes`` or ``that reads only`` where that is what ``some`` are."""
    if len(some) == len(everything):
        return "all patterns"
    if list(some) == [w for w in everything if w.rw.writes]:
        return "all patterns that write"
    if list(some) == [w for w in everything if not w.rw.writes]:
        return "all read-only patterns"
    return "; ".join(labels)


def columns_of(report: Report) -> tuple[LadderColumn, ...]:
    """One column per comparison the stack asks for, one for each layer without a layer below."""
    return tuple(
        LadderColumn(layer=layer.name, below=below, index=index)
        for index, layer in enumerate(report.run.plan.stack.layers)
        for below in layer.against or (None,)
    )


def measured_workloads(report: Report) -> tuple[Workload, ...]:
    """The rows in plan order. Cells that exist only for the confirming experiment are no rows."""
    plan = report.run.plan
    confirming = {s.cell for s in plan.steps if s.kind is StepKind.CONFIRM}
    confirming -= {s.cell for s in plan.steps if s.kind is StepKind.MEASURE}
    rows: dict[str, Workload] = {}
    for cell in plan.cells:
        if cell.key not in confirming:
            rows.setdefault(cell.workload.key, cell.workload)
    return tuple(rows.values())


def common_shape(workloads: Iterable[Workload]) -> tuple[str, dict[str, str]]:
    """The parts of the shape all workloads share, and by workload key what is left."""
    parts = {w.key: w.shape_parts for w in workloads}
    if not parts:
        return "", {}
    first = next(iter(parts.values()))
    shared = [p for p in first if all(p in other for other in parts.values())]
    rest = {key: " · ".join(p for p in own if p not in shared) for key, own in parts.items()}
    return " · ".join(shared), rest


def build(report: Report) -> Ladder:
    columns = columns_of(report)
    workloads = measured_workloads(report)
    common, shapes = common_shape(workloads)
    compared = {(c.layer, c.below, c.workload_key): c for c in report.analysis.comparisons}
    summaries = {(c.layer, c.workload.key): c for c in report.analysis.cells}
    errors = {(r.layer, r.workload_key): r.error for r in report.results if r.error}
    skips = {(c.layer, c.workload.key): c.skip for c in report.run.plan.cells}

    def square(column: LadderColumn, key: str) -> Square:
        at = (column.layer, key)
        if (summary := summaries.get(at)) is not None:
            below = column.below
            return Square(summary=summary, comparison=compared.get((column.layer, below, key)) if below else None)
        return Square(why=skips.get(at) or errors.get(at) or "not measured")

    rows = tuple(LadderRow(w, shapes[w.key], tuple(square(c, w.key) for c in columns)) for w in workloads)
    return Ladder(common=common, columns=columns, rows=rows)
