"""What steps will cost in time and bytes, estimated upward."""

from __future__ import annotations

import math
from collections.abc import Iterable

from strata.model.precondition import PreconditionBudget
from strata.model.workload import ClosedLoop, Workload
from strata.units import GIB

ASSUMED_WRITE_BPS = 2.0 * GIB
"""Bytes per second a layer is taken to accept. No measurement: a generous bound for write-through I/O on one drive."""

STEP_OVERHEAD_S = 0.25
"""Seconds a step takes beside ramp and measurement: open, verify, sample counters, commit."""


def bytes_written(workload: Workload, seconds: float, assumed_bps: float) -> int:
    """Upper estimate of bytes written in ``seconds``. An asked rate bounds it below ``assumed_bps``."""
    bps = assumed_bps
    arrival, limits = workload.arrival, None
    if isinstance(arrival, ClosedLoop):
        limits = arrival.limits
        ceiling = None if limits is None else limits.iops
    else:
        ceiling = arrival.iops
    if ceiling is not None:
        bps = min(bps, ceiling * workload.bs)
    if limits is not None and limits.bytes_per_s is not None:
        bps = min(bps, limits.bytes_per_s)
    return math.ceil(bps * seconds * _write_share(workload))


def precondition_bytes(workloads: Iterable[Workload], budget: PreconditionBudget | None, assumed_bps: float) -> int:
    """Upper estimate of what preconditioning these writes, each once; those that only read need none."""
    if budget is None:
        return 0
    # The last round may end half a round after the time.
    seconds = budget.seconds_max + budget.round_s / 2
    each = {w.key: min(budget.bytes_max, bytes_written(w, seconds, assumed_bps)) for w in workloads}
    return sum(each.values())


def _write_share(workload: Workload) -> float:
    if workload.rwmixread is not None:
        return 1 - workload.rwmixread / 100
    return 1.0 if workload.rw.carries else 0.0
