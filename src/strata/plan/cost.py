"""What steps will cost in time and bytes, estimated upward."""

from __future__ import annotations

import math
from collections.abc import Iterable

from strata.model.base import Value
from strata.model.plan import Plan
from strata.model.precondition import PreconditionBudget
from strata.model.workload import ClosedLoop, Workload
from strata.units import GIB

ASSUMED_WRITE_BPS = 2.0 * GIB
"""Bytes per second a layer is taken to accept. No measurement: a generous bound for write-through I/O on one drive."""

ASSUMED_READ_BPS = 6.0 * GIB
"""Bytes per second a layer is taken to deliver. No measurement: about what four PCIe 4.0 lanes carry."""

STEP_OVERHEAD_S = 0.25
"""Seconds a step takes beside ramp and measurement: open, verify, sample counters, commit."""


def bytes_written(workload: Workload, seconds: float, assumed_bps: float) -> int:
    """Upper estimate of bytes written in ``seconds``. An asked rate bounds it below ``assumed_bps``."""
    return _moved(workload, seconds, assumed_bps, _write_share(workload))


def precondition_bytes(workloads: Iterable[Workload], budget: PreconditionBudget | None, assumed_bps: float) -> int:
    """Upper estimate of what preconditioning these writes, each once; those that only read need none."""
    if budget is None:
        return 0
    # The last round may end half a round after the time.
    seconds = budget.seconds_max + budget.round_s / 2
    each = {w.key: min(budget.bytes_max, bytes_written(w, seconds, assumed_bps)) for w in workloads}
    return sum(each.values())


def bytes_read(workload: Workload, seconds: float, assumed_bps: float) -> int:
    """Upper estimate of bytes read in ``seconds``. An asked rate bounds it below ``assumed_bps``."""
    return _moved(workload, seconds, assumed_bps, 1 - _write_share(workload))


def _moved(workload: Workload, seconds: float, assumed_bps: float, share: float) -> int:
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
    return math.ceil(bps * seconds * share)


def _write_share(workload: Workload) -> float:
    if workload.rwmixread is not None:
        return 1 - workload.rwmixread / 100
    return 1.0 if workload.rw.carries else 0.0


class PlanRow(Value):
    """One layer of a plan. ``steps`` is over all rounds; ``skipped`` is (workload label, reason).

    ``seconds`` and the bytes are upper estimates. The rows hold the steps alone: the fill of Strata's own file
    (``plan.file_size`` bytes, written once), preconditioning, and what ``plan.further`` allows are of no layer: they
    are what ``plan.bytes_written`` has beyond their sum.
    """

    layer: str
    endpoint: str
    cells: int
    skipped: tuple[tuple[str, str], ...]
    steps: int
    seconds: float
    bytes_read: int
    bytes_written: int


def plan_rows(plan: Plan, *, assumed_read_bps: float = ASSUMED_READ_BPS) -> tuple[PlanRow, ...]:
    """A row for every layer of the stack, in its order, also for one where everything is skipped."""
    span = plan.ramp_s + plan.runtime_s
    a_step = plan.step_s
    by_key = {cell.key: cell for cell in plan.cells}
    rows = []
    for layer in plan.stack.layers:
        cells = [cell for cell in plan.cells if cell.layer == layer.name]
        workloads = [by_key[step.cell].workload for step in plan.steps if by_key[step.cell].layer == layer.name]
        rows.append(
            PlanRow(
                layer=layer.name,
                endpoint=layer.endpoint,
                cells=sum(cell.skip is None for cell in cells),
                skipped=tuple((cell.workload.label, cell.skip) for cell in cells if cell.skip is not None),
                steps=len(workloads),
                seconds=len(workloads) * a_step,
                bytes_read=sum(bytes_read(w, span, assumed_read_bps) for w in workloads),
                bytes_written=sum(bytes_written(w, span, plan.assumed_write_bps) for w in workloads),
            )
        )
    return tuple(rows)
