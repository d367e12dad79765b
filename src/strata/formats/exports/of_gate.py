"""A gate as a table: a row for each cell of the baseline."""

from __future__ import annotations

from strata.formats.exports.sheet import Declared, Sheet, bounds, interval, sheet_of
from strata.model.history import Gate, GateCell

COLUMNS: Declared[Gate, GateCell] = (
    ("baseline text", lambda gate, _: gate.baseline),
    ("version count", lambda gate, _: gate.version),
    ("layer text", lambda _, cell: cell.layer),
    ("workload text", lambda _, cell: cell.workload_key),
    ("outcome text", lambda _, cell: cell.outcome.value),
    ("baseline_iops = baseline iops", lambda _, cell: cell.baseline_iops),
    ("candidate_iops = candidate iops", lambda _, cell: cell.candidate_iops),
    (bounds("iops_ratio", "candidate / baseline"), lambda _, cell: interval(cell.ratio)),
    ("p", lambda _, cell: cell.p),
    ("noise_share = noise between runs", lambda _, cell: cell.noise),
    ("detectable_share = detectable loss", lambda _, cell: cell.detectable),
    ("runs_needed count = runs needed", lambda _, cell: cell.runs_needed),
)
MISSING = "missing"


def sheet(gate: Gate) -> Sheet:
    """What the candidate did not measure has no figures."""
    made = sheet_of(COLUMNS, ((gate, cell) for cell in gate.cells))
    empty = [None] * (len(made.columns) - 5)
    named = (name.rpartition("/") for name in gate.missing)
    missing = ((gate.baseline, gate.version, layer, key, MISSING, *empty) for layer, _, key in named)
    return Sheet(made.columns, (*made.rows, *missing))
