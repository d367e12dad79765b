"""Two runs compared with each other as a table: a row for each cell that both have."""

from __future__ import annotations

from strata.formats.exports.sheet import Declared, Field, Sheet, bounds, interval, sheet_of
from strata.model.compared import CellCompared, ComparedRuns
from strata.model.percentiles import PERCENTILES

COLUMNS: Declared[ComparedRuns, CellCompared] = (
    ("run_a text", lambda of, _: of.a.run),
    ("run_b text", lambda of, _: of.b.run),
    ("layer text", lambda _, cell: cell.layer),
    ("workload text", lambda _, cell: cell.workload_key),
    ("label text", lambda _, cell: cell.label),
    (bounds("iops_a", "A iops"), lambda _, cell: interval(cell.a)),
    (bounds("iops_b", "B iops"), lambda _, cell: interval(cell.b)),
    (bounds("iops_ratio", "iops B/A"), lambda _, cell: interval(cell.iops)),
    ("".join(bounds(f"p{p}_ratio", f"time.p{p} B/A") for p in PERCENTILES), lambda _, cell: _shifts(cell)),
    ("p_difference", lambda _, cell: cell.p_difference),
    ("p_equivalence", lambda _, cell: cell.p_equivalence),
    ("verdict text", lambda _, cell: cell.verdict.value),
    ("beyond_margin truth = beyond margin", lambda _, cell: cell.beyond_margin),
    ("between_runs_share = between runs", lambda _, cell: cell.between_runs),
    ("why text", lambda _, cell: cell.why),
)


def sheet(compared: ComparedRuns) -> Sheet:
    """Ratios are B ÷ A."""
    return sheet_of(COLUMNS, ((compared, cell) for cell in compared.cells))


def _shifts(cell: CellCompared) -> tuple[Field, ...]:
    shifts = {shift.percentile: shift.ratio for shift in cell.shifts}
    return tuple(field for p in PERCENTILES for field in interval(shifts.get(p)))
