"""OpenMetrics text, for Prometheus' textfile collector or a push gateway."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from strata import units
from strata.formats.exports.tables import MeasuredRun
from strata.model.analysis import CellSummary
from strata.model.live import LiveRun
from strata.model.progress import Progress

NAME, TITLE, TABULAR = "openmetrics", "OpenMetrics text (Prometheus)", False
_SUMMARY = "strata_cell_latency_seconds"
"""A quantile is a label of summaries alone."""
_FAMILIES = (
    ("strata_cell_iops", "", "I/Os per second of one workload at one layer."),
    ("strata_cell_throughput_bytes_per_second", "bytes_per_second", "Bytes per second of one workload at one layer."),
    ("strata_cell_latency_mean_seconds", "seconds", "Mean service time."),
    (_SUMMARY, "seconds", "Service time at the quantiles that enough I/Os support."),
    ("strata_cell_measured_timestamp_seconds", "seconds", "When the run began, in seconds since the epoch."),
)


_NOW: tuple[tuple[str, str, str, Callable[[Progress], float | None]], ...] = (
    ("strata_live_iops", "", "I/Os per second of the running measurement now.", lambda p: p.iops),
    ("strata_live_latency_p50_seconds", "seconds", "Median service time of the last interval.",
     lambda p: None if p.p50_ns is None else p.p50_ns / units.NS_PER_S),
    ("strata_live_latency_p99_seconds", "seconds", "99th percentile of the service time in the last interval.",
     lambda p: None if p.p99_ns is None else p.p99_ns / units.NS_PER_S),
    ("strata_live_throughput_bytes_per_second", "bytes_per_second", "Bytes per second of the running measurement now.",
     lambda p: p.bytes_per_second),
    ("strata_live_step", "", "The step that is measured, from 1.", lambda p: p.step),
    ("strata_live_steps", "", "Steps of the plan so far.", lambda p: p.steps),
    ("strata_live_left_seconds", "seconds", "Estimated time left.", lambda p: p.seconds_left),
)  # fmt: skip


def write_with(runs: Sequence[MeasuredRun], now: Sequence[LiveRun]) -> str:
    """The same with what is measured at this moment."""
    lines = write(runs).splitlines()[:-1]
    for family, unit, text, read in _NOW:
        lines += _head(family, "gauge", unit, text)
        for one in now:
            p = one.now
            value = None if p is None else read(p)
            if p is not None and value is not None:
                labels = {
                    "run": one.head.run,
                    "stack": one.head.stack,
                    "layer": p.layer or "",
                    "workload": p.label or "",
                }
                lines.append(f"{family}{_labels(labels)} {float(value)!r}")
    return "\n".join([*lines, "# EOF", ""])


def write(runs: Sequence[MeasuredRun]) -> str:
    """See the module. Of a cell that several runs have, the last given counts."""
    newest = {(of.run.environment.hostname, of.run.plan.stack.name, c.layer, c.workload.key): (of, c)
              for of in runs for c in of.analysis.cells}  # fmt: skip
    lines: list[str] = []
    for family, unit, text in _FAMILIES:
        kind = "summary" if family == _SUMMARY else "gauge"
        lines += _head(family, kind, unit, text)
        for where, (of, cell) in newest.items():
            labels = dict(zip(("host", "stack", "layer", "workload"), where, strict=True))
            lines += [f"{name}{_labels(labels | more)} {value!r}" for name, more, value in _values(family, of, cell)]
    return "\n".join([*lines, "# EOF", ""])


def _head(family: str, kind: str, unit: str, text: str) -> list[str]:
    return [f"# TYPE {family} {kind}", *([f"# UNIT {family} {unit}"] if unit else []), f"# HELP {family} {text}"]


def _values(family: str, of: MeasuredRun, cell: CellSummary) -> Iterator[tuple[str, dict[str, str], float]]:
    mean_s = cell.mean_ns.value / units.NS_PER_S
    match family.removeprefix("strata_cell_"):
        case "iops":
            yield family, {}, float(cell.iops.value)
        case "throughput_bytes_per_second":
            yield family, {}, float(cell.bytes_per_second.value)
        case "latency_mean_seconds":
            yield family, {}, mean_s
        case "latency_seconds":
            for p, time in cell.latency_ns.items():
                yield family, {"quantile": f"{float(p) / 100:.10g}"}, time.value / units.NS_PER_S
            yield f"{family}_count", {}, cell.ios
            yield f"{family}_sum", {}, cell.ios * mean_s
        case _:
            yield family, {}, of.run.created_unix_ns / units.NS_PER_S


def _labels(labels: dict[str, str]) -> str:
    said = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return "{" + said + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
