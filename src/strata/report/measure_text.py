"""One workload at one endpoint for the terminal, in the order fio readers expect."""

from __future__ import annotations

from strata import units
from strata.model.analysis import CellSummary, Check
from strata.model.workload import ClosedLoop
from strata.report import figures, words
from strata.report.textual import Paint, field, wrap

_LABEL = 12


def measure_text(
    summary: CellSummary, endpoint: str, width: int, color: bool = False, checks: tuple[Check, ...] = ()
) -> str:
    """The summary in at most ``width`` columns. Percentiles that the samples do not support are absent."""
    paint = Paint(color)

    def line(label: str, text: str) -> list[str]:
        return field(label, text, width, column=_LABEL)

    s = summary
    out = [paint(x, "bold") for x in wrap(f"{endpoint} · {s.workload.label}", width)]
    out += line("IOPS", f"{units.count(s.iops.value)} {figures.share_error(s.iops)}".rstrip())
    rate = s.bytes_per_second
    out += line("bandwidth", f"{units.rate(rate.value)} {figures.share_error(rate)}".rstrip())
    out += line("latency", f"mean {units.duration(s.mean_ns.value)} {figures.share_error(s.mean_ns)}".rstrip())
    points = [f"p{key} {units.duration(e.value)}" for key, e in s.latency_ns.items()]
    if points:
        out += line("percentiles", " · ".join(points))
    asked = f" of {s.workload.outstanding} asked" if isinstance(s.workload.arrival, ClosedLoop) else ""
    out += line("in flight", f"{units.significant(s.outstanding)}{asked} (rate × latency)")
    out += line("samples", f"{units.count(s.ios)} I/Os in {figures.plural(s.rounds, 'round')}")
    if s.cpu_busy is not None:
        busiest = f", the busiest {figures.percent(s.cpu_busiest)}" if s.cpu_busiest is not None else ""
        out += line("processors", f"{figures.percent(s.cpu_busy)} busy{busiest}")
    if s.engine_cpu_ns_per_io is not None:
        out += line("engine", f"{units.duration(s.engine_cpu_ns_per_io)} of processor time per I/O")
    if s.device_in_flight is not None:
        out += line("device", f"{units.significant(s.device_in_flight)} in flight on average")
    out += line("errors", units.count(s.errors) if s.errors else "none")
    for check in checks:
        sign = "cannot be true" if check.impossible else words.CHECK[check.kind]
        out += [paint(x, "yellow") for x in wrap(f"! {sign}: {check.message}", width, "  ", "    ")]
    return "\n".join(out)
