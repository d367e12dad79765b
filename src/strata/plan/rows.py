"""What a plan will do at each layer, as values for a table."""

from __future__ import annotations

from strata.model.base import Value
from strata.model.plan import Plan
from strata.plan import cost


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


def plan_rows(plan: Plan, *, assumed_read_bps: float = cost.ASSUMED_READ_BPS) -> tuple[PlanRow, ...]:
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
                bytes_read=sum(cost.bytes_read(w, span, assumed_read_bps) for w in workloads),
                bytes_written=sum(cost.bytes_written(w, span, plan.assumed_write_bps) for w in workloads),
            )
        )
    return tuple(rows)
