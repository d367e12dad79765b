"""What of runs is exported as a table: cells, rounds, intervals or counters, with the columns of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from strata import units
from strata.errors import UsageError
from strata.formats.exports.sheet import ExportColumn, Field, Sheet, bounds, columns, interval
from strata.model.analysis import Analysis, CellSummary, edge_share
from strata.model.finding import Verdict
from strata.model.groups import grouped
from strata.model.matrix import MatrixResult
from strata.model.percentiles import PERCENTILES
from strata.model.result import CellResult, Direction
from strata.model.run import Run
from strata.model.scale import ScaleResult
from strata.model.workload import Workload
from strata.text.junit import JunitSuite

CELLS, ROUNDS, INTERVALS, COUNTERS, RUNS = "cells", "rounds", "intervals", "counters", "runs"


@dataclass(frozen=True)
class MeasuredRun:
    """A run with what was measured in it and what that says: its analysis and verdict, or the matrix or the sweep
    that it measured.

    ``suites``: what laws and baselines say of it.
    """

    run: Run
    results: tuple[CellResult, ...] = ()
    analysed: Analysis | None = None
    matrix: MatrixResult | None = None
    scale: ScaleResult | None = None
    verdict: Verdict | None = None
    suites: tuple[JunitSuite, ...] = ()

    @property
    def analysis(self) -> Analysis:
        """Raises `UsageError` for a matrix or a sweep, which has none."""
        if self.analysed is None:
            what = "matrix" if self.scale is None else "sweep"
            why = f"it is a {what}, which has runs, cells, rounds and intervals only"
            raise UsageError("cannot export", self.run.id, why, "strata export csv RUN --table rounds")
        return self.analysed

    @property
    def workloads(self) -> dict[str, Workload]:
        """By their keys."""
        return {cell.workload.key: cell.workload for cell in self.run.plan.cells}


@dataclass(frozen=True)
class ExportTable:
    """``rows`` have a field for each of the columns."""

    columns: tuple[ExportColumn, ...]
    rows: Callable[[MeasuredRun], Iterator[tuple[Field, ...]]]

    def sheet(self, runs: Sequence[MeasuredRun]) -> Sheet:
        """The rows of all runs, in their order."""
        return Sheet.of(self.columns, (row for run in runs for row in self.rows(run)))


HOW = """
layer text
workload text
pattern text
caching text
size_bytes count = size [B]
depth count
threads count
"""
"""Of every cell: ``layer`` and ``workload`` are the key by which `strata compare` and `strata history` find it."""
_RUN = """
run text
created_utc text = created
host text
stack text
"""
_WHERE = _RUN + HOW
_ABOUT = """
status text
name text
note text
layers text
cells count
rounds count
ramp_seconds = ramp [s]
run_seconds = runtime [s]
file_bytes count = file [B]
generator text
generator_version text
strata_version text
kernel text
source text
verdict text
slow_layer text
cause text
confidence_share = confidence
"""


def _where(of: MeasuredRun, layer: str, workload: Workload) -> tuple[Field, ...]:
    return (*_run(of), *how(layer, workload))


def _run(of: MeasuredRun) -> tuple[Field, ...]:
    return of.run.id, utc(of.run.created_unix_ns), of.run.environment.hostname, of.run.plan.stack.name


def _runs(of: MeasuredRun) -> Iterator[tuple[Field, ...]]:
    run, plan, made_by, verdict = of.run, of.run.plan, of.run.environment, of.verdict
    yield (
        *_run(of),
        run.status.value,
        run.label.name or None,
        run.label.note or None,
        ", ".join(layer.name for layer in plan.stack.layers),
        len(plan.cells),
        plan.rounds,
        plan.ramp_s,
        plan.runtime_s,
        plan.file_size or None,
        made_by.engine.get("name"),
        made_by.engine.get("version"),
        made_by.strata_version,
        made_by.kernel,
        None if run.source is None else run.source.path,
        *(
            (None, None, None, None)
            if verdict is None
            else (verdict.kind.value, verdict.layer, verdict.cause.value, verdict.confidence)
        ),
    )


def utc(unix_ns: int | None) -> str | None:
    """The time in ISO 8601, to the second."""
    made = None if unix_ns is None else datetime.fromtimestamp(unix_ns / units.NS_PER_S, UTC)
    return None if made is None else made.isoformat(timespec="seconds")


def how(layer: str, workload: Workload) -> tuple[Field, ...]:
    """The fields of `HOW`."""
    size = workload.bs if workload.bssplit is None else None
    asked = (workload.pattern, "off" if workload.direct else "on", size, workload.arrival.iodepth, workload.threads)
    return (layer, workload.key, *asked)


def _cells(of: MeasuredRun) -> Iterator[tuple[Field, ...]]:
    results = grouped(((one.layer, one.workload_key), one) for one in of.results)
    for cell in of.analysis.cells:
        times = [cell.latency_ns.get(p) for p in PERCENTILES]
        yield (
            *_where(of, cell.layer, cell.workload),
            cell.rounds,
            cell.ios,
            cell.errors,
            *interval(cell.iops),
            *interval(cell.bytes_per_second),
            *interval(cell.mean_ns),
            *(field for time in times for field in interval(time)),
            cell.outstanding,
            edge_share(cell, results.get((cell.layer, cell.workload.key), ())),
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


_MEASURED = f"""
rounds count
ios count
errors count
{bounds("iops", "iops")}
{bounds("bytes_per_second", "rate", "B/s")}
{bounds("mean", "time.mean", "ns", "_ns")}
{"".join(bounds(f"p{p}", f"time.p{p}", "ns", "_ns") for p in PERCENTILES)}
outstanding_measured = in_flight
longest_share = edge
cpu_busy_share = busy of all CPUs
impossible text
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


_ROUND = "kind text\nround count\norder count\n"
TABLES: dict[str, ExportTable] = {
    CELLS: ExportTable(columns(_WHERE + _MEASURED), _cells),
    ROUNDS: ExportTable(
        columns(
            _WHERE + _ROUND + "direction text\nseconds = seconds [s]\nios count\nbytes count = bytes [B]\niops\n"
            "bytes_per_second = rate [B/s]\nmean_ns = time.mean [ns]"
        ),
        _rounds,
    ),
    INTERVALS: ExportTable(
        columns(
            _WHERE + _ROUND + "start_seconds = start [s]\nend_seconds = end [s]\nread_ios count = ios.read\n"
            "read_bytes count = bytes.read [B]\nwrite_ios count = ios.write\nwrite_bytes count = bytes.write [B]"
        ),
        _intervals,
    ),
    RUNS: ExportTable(columns(_RUN + _ABOUT), _runs),
    COUNTERS: ExportTable(columns(_WHERE + "counter text\nlabels text\nper_second = value"), _counters),
}
