"""Two runs held against each other as a table: a row for each cell that both have."""

from __future__ import annotations

from strata.formats.exports.sheet import Sheet, bounds, columns, interval
from strata.model.compared import ComparedRuns
from strata.model.percentiles import PERCENTILES

COLUMNS = columns(
    f"""
run_a text
run_b text
layer text
workload text
label text
{bounds("iops_a", "A iops")}
{bounds("iops_b", "B iops")}
{bounds("iops_ratio", "iops B/A")}
{"".join(bounds(f"p{p}_ratio", f"time.p{p} B/A") for p in PERCENTILES)}
p_difference
p_equivalence
verdict text
beyond_margin truth = beyond margin
between_runs_share = between runs
why text
"""
)


def sheet(compared: ComparedRuns) -> Sheet:
    """Ratios are B ÷ A."""
    rows = []
    for cell in compared.cells:
        shifts = {shift.percentile: shift.ratio for shift in cell.shifts}
        rows.append(
            (
                compared.a.run,
                compared.b.run,
                cell.layer,
                cell.workload_key,
                cell.label,
                *interval(cell.a),
                *interval(cell.b),
                *interval(cell.iops),
                *(field for p in PERCENTILES for field in interval(shifts.get(p))),
                cell.p_difference,
                cell.p_equivalence,
                cell.verdict.value,
                cell.beyond_margin,
                cell.between_runs,
                cell.why,
            )
        )
    return Sheet.of(COLUMNS, rows)
