"""A gate as a table: a row for each cell of the baseline."""

from __future__ import annotations

from strata.formats.exports.sheet import Field, Sheet, bounds, columns, interval
from strata.model.history import Gate

COLUMNS = columns(
    f"""
baseline text
version count
layer text
workload text
outcome text
baseline_iops = baseline iops
candidate_iops = candidate iops
{bounds("iops_ratio", "candidate / baseline")}
p
noise_share = noise between runs
detectable_share = detectable loss
runs_needed count = runs needed
"""
)
MISSING = "missing"


def sheet(gate: Gate) -> Sheet:
    """What the candidate did not measure has no figures."""
    of = gate.baseline, gate.version
    rows: list[tuple[Field, ...]] = [
        (
            *of,
            cell.layer,
            cell.workload_key,
            cell.outcome.value,
            cell.baseline_iops,
            cell.candidate_iops,
            *interval(cell.ratio),
            cell.p,
            cell.noise,
            cell.detectable,
            cell.runs_needed,
        )
        for cell in gate.cells
    ]
    for name in gate.missing:
        layer, _, key = name.rpartition("/")
        rows.append((*of, layer, key, MISSING, *[None] * (len(COLUMNS) - 5)))
    return Sheet.of(COLUMNS, rows)
