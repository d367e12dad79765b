"""What is exported as a table: cells, rounds, intervals or counters, with the columns of each.

A column has a ``key`` for programs, which carries its unit, and a ``heading`` as `strata.formats.table` reads it: the
laws can be asked of an exported table (``strata check``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from strata import units
from strata.model.analysis import Analysis, CellSummary
from strata.model.estimate import Estimate
from strata.model.percentiles import PERCENTILES
from strata.model.result import CellResult, Direction
from strata.model.run import Run
from strata.model.workload import Workload

Field = str | int | float | None
CELLS, ROUNDS, INTERVALS, COUNTERS = "cells", "rounds", "intervals", "counters"


@dataclass(frozen=True)
class MeasuredRun:
    """A run with what was measured in it and what that says."""

    run: Run
    analysis: Analysis
    results: tuple[CellResult, ...]

    @property
    def workloads(self) -> dict[str, Workload]:
        """By their keys."""
        return {cell.workload.key: cell.workload for cell in self.run.plan.cells}


@dataclass(frozen=True)
class ExportColumn:
    """``key`` for programs, ``heading`` for people and for `strata check`."""

    key: str
    heading: str


@dataclass(frozen=True)
class ExportTable:
    """``rows`` have a field for each of the columns."""

    columns: tuple[ExportColumn, ...]
    rows: Callable[[MeasuredRun], Iterator[tuple[Field, ...]]]

    def every(self, runs: Sequence[MeasuredRun]) -> Iterator[tuple[Field, ...]]:
        """The rows of all runs, in their order."""
        return (row for run in runs for row in self.rows(run))


def _columns(text: str) -> tuple[ExportColumn, ...]:
    """``key = heading`` a line; a key alone is its own heading."""
    parts = [line.partition("=") for line in text.split("\n") if line.strip()]
    return tuple(ExportColumn(key.strip(), heading.strip() or key.strip()) for key, _, heading in parts)


_WHERE = """
run
created_utc = created
host
stack
layer
workload
pattern
caching
size_bytes = size [B]
depth
threads
"""


def _where(of: MeasuredRun, layer: str, workload: Workload) -> tuple[Field, ...]:
    made = datetime.fromtimestamp(of.run.created_unix_ns / units.NS_PER_S, UTC)
    head = (of.run.id, made.isoformat(timespec="seconds"), of.run.environment.hostname, of.run.plan.stack.name)
    size = workload.bs if workload.bssplit is None else None
    how = (workload.pattern, "off" if workload.direct else "on", size, workload.arrival.iodepth, workload.threads)
    return (*head, layer, workload.key, *how)


def _interval(estimate: Estimate) -> tuple[Field, ...]:
    return estimate.value, estimate.low, estimate.high


def _cells(of: MeasuredRun) -> Iterator[tuple[Field, ...]]:
    for cell in of.analysis.cells:
        times = [cell.latency_ns.get(p) for p in PERCENTILES]
        yield (
            *_where(of, cell.layer, cell.workload),
            cell.rounds,
            cell.ios,
            cell.errors,
            *_interval(cell.iops),
            *_interval(cell.bytes_per_second),
            *_interval(cell.mean_ns),
            *(field for time in times for field in (_interval(time) if time else (None, None, None))),
            cell.outstanding,
            cell.cpu_busy,
            _wrong(of, cell),
        )


def _wrong(of: MeasuredRun, cell: CellSummary) -> str | None:
    """Why a figure of the cell cannot be true."""
    found = [
        check.message
        for check in of.analysis.checks
        if check.impossible and check.layer == cell.layer and check.workload_key in (None, cell.workload.key)
    ]
    return "; ".join(found) or None


def _times(p: str) -> str:
    return "".join(f"p{p}_{which}ns = time.p{p}{word} [ns]\n" for which, word in _ENDS)


_ENDS = (("", ""), ("low_", " low"), ("high_", " high"))
_MEASURED = f"""
rounds
ios
errors
iops
iops_low = iops low
iops_high = iops high
bytes_per_second = rate [B/s]
bytes_per_second_low = rate low [B/s]
bytes_per_second_high = rate high [B/s]
mean_ns = time.mean [ns]
mean_low_ns = time.mean low [ns]
mean_high_ns = time.mean high [ns]
{"".join(map(_times, PERCENTILES))}
outstanding_measured = in flight
cpu_busy_share = busy of all CPUs
impossible
"""


def _measured(of: MeasuredRun) -> Iterator[tuple[CellResult, Workload]]:
    known = of.workloads
    for one in of.results:
        workload = known.get(one.workload_key)
        if one.result is not None and workload is not None:
            yield one, workload


def _rounds(of: MeasuredRun) -> Iterator[tuple[Field, ...]]:
    for one, workload in _measured(of):
        assert one.result is not None
        seconds = one.result.measured_ns / units.NS_PER_S
        for name, side in (("read", one.result.read), ("write", one.result.write)):
            if side.ops:
                where = _where(of, one.layer, workload)
                yield (
                    *where,
                    one.kind,
                    one.round + 1,
                    one.order,
                    name,
                    seconds,
                    side.ops,
                    side.bytes,
                    *_rates(side, seconds),
                )


def _rates(side: Direction, seconds: float) -> tuple[Field, ...]:
    if not seconds:
        return None, None, None
    mean = side.service_sum_ns / side.ops if side.service_sum_ns else None
    return side.ops / seconds, side.bytes / seconds, mean


def _intervals(of: MeasuredRun) -> Iterator[tuple[Field, ...]]:
    for one, workload in _measured(of):
        assert one.result is not None
        for part in one.result.intervals:
            span = part.start_ns / units.NS_PER_S, part.end_ns / units.NS_PER_S
            sides = (part.read.ops, part.read.bytes, part.write.ops, part.write.bytes)
            yield (*_where(of, one.layer, workload), one.kind, one.round + 1, one.order, *span, *sides)


def _counters(of: MeasuredRun) -> Iterator[tuple[Field, ...]]:
    for cell in of.analysis.cells:
        for name, labels, value in cell.readings.every():
            where = ", ".join(f"{label}={of_it}" for label, of_it in labels.items())
            yield (*_where(of, cell.layer, cell.workload), name, where or None, value)


TABLES: dict[str, ExportTable] = {
    CELLS: ExportTable(_columns(_WHERE + _MEASURED), _cells),
    ROUNDS: ExportTable(
        _columns(
            _WHERE + "kind\nround\norder\ndirection\nseconds = seconds [s]\nios\nbytes = bytes [B]\niops\n"
            "bytes_per_second = rate [B/s]\nmean_ns = time.mean [ns]"
        ),
        _rounds,
    ),
    INTERVALS: ExportTable(
        _columns(
            _WHERE + "kind\nround\norder\nstart_seconds = start [s]\nend_seconds = end [s]\nread_ios = ios.read\n"
            "read_bytes = bytes.read [B]\nwrite_ios = ios.write\nwrite_bytes = bytes.write [B]"
        ),
        _intervals,
    ),
    COUNTERS: ExportTable(_columns(_WHERE + "counter\nlabels\nper_second = value"), _counters),
}
