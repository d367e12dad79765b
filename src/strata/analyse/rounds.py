"""The rounds of one cell: what each measurement gave, as plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from strata.analyse import counters
from strata.model import histogram
from strata.model.counters import Readings
from strata.model.groups import grouped
from strata.model.percentiles import PERCENTILES, supported
from strata.model.plan import Plan, StepKind
from strata.model.result import CellResult, EngineResult
from strata.model.workload import Workload


@dataclass(frozen=True)
class RoundValue:
    """One measurement. Times in ns, rates per second."""

    round: int
    ios: int
    iops: float
    bytes_per_second: float
    mean_ns: float
    latency_ns: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class CellRounds:
    """The measurements of one workload at one layer that gave I/Os, in the order of their rounds.

    ``merged`` is the payload of all their I/Os; ``failed`` the messages of measurements that gave nothing or ended
    before their time. What those gave is used only where there is nothing better: a twentieth of a second before a
    stop would weigh as much as a whole round.
    """

    layer: str
    workload: Workload
    results: tuple[CellResult, ...]
    values: tuple[RoundValue, ...]
    merged: str | None
    errors: int
    failed: tuple[str, ...]

    @property
    def ios(self) -> int:
        """I/Os measured over all rounds."""
        return sum(v.ios for v in self.values)

    @cached_property
    def told(self) -> tuple[Readings, ...]:
        """The counters of each measurement; kept, for who asks several times."""
        return tuple(map(counters.readings, self.results))

    def by_round(self, metric: str) -> dict[int, float]:
        """``iops``, ``mean_ns`` or a percentile, by round; rounds without it are left out."""
        if metric in ("iops", "mean_ns"):
            return {v.round: getattr(v, metric) for v in self.values if getattr(v, metric) > 0}
        return {v.round: v.latency_ns[metric] for v in self.values if v.latency_ns.get(metric, 0) > 0}


def collect(layer: str, workload: Workload, results: Sequence[CellResult]) -> CellRounds:
    """The rounds of one cell. A measurement without I/Os counts as failed."""
    good: list[tuple[CellResult, EngineResult, str | None]] = []
    failed: list[str] = []
    errors = 0
    for cell in sorted(results, key=lambda c: (c.round, c.order)):
        if cell.result is not None:
            errors += cell.result.errored
        if cell.result is None or cell.result.ops == 0 or cell.result.measured_ns <= 0:
            failed.append(cell.error or "no I/O was completed")
            continue
        if cell.error:
            failed.append(cell.error)
        payload = histogram.merge([cell.result.read.service_time, cell.result.write.service_time])
        good.append((cell, cell.result, payload))
    good = [one for one in good if not one[0].error] or good
    wanted = supported(PERCENTILES, sum(r.ops for _, r, _ in good))
    return CellRounds(
        layer=layer,
        workload=workload,
        results=tuple(c for c, _, _ in good),
        values=tuple(_value(c.round, r, payload, wanted) for c, r, payload in good),
        merged=histogram.merge([payload for _, _, payload in good]),
        errors=errors,
        failed=tuple(failed),
    )


def _value(number: int, result: EngineResult, payload: str | None, wanted: Sequence[str]) -> RoundValue:
    times = histogram.quantiles(payload, [float(p) / 100 for p in wanted]) if payload and wanted else []
    return RoundValue(
        round=number,
        ios=result.ops,
        iops=result.iops,
        bytes_per_second=result.bytes_per_second,
        mean_ns=result.mean_service_ns or 0.0,
        latency_ns=dict(zip(wanted, map(float, times), strict=True)) if times else {},
    )


def collect_all(plan: Plan, results: Sequence[CellResult]) -> dict[tuple[str, str], CellRounds]:
    """Every measured cell of the plan by (layer, workload key). Confirming steps are left out."""
    found: dict[tuple[str, str], CellRounds] = {}
    by_cell = grouped((result.cell, result) for result in results if result.kind == StepKind.MEASURE.value)
    for cell in plan.cells:
        if cell.key in by_cell:
            found[(cell.layer, cell.workload.key)] = collect(cell.layer, cell.workload, by_cell[cell.key])
    return found
