"""One workload at one endpoint for the terminal, in the order fio readers expect."""

from __future__ import annotations

from strata import units
from strata.model import histogram
from strata.model.analysis import CellSummary, Check
from strata.model.result import EngineResult
from strata.report import figures, flushes, words
from strata.report.textual import Paint, field, wrap

_LABEL = 12


def measure_text(
    summary: CellSummary,
    endpoint: str,
    width: int,
    color: bool = False,
    checks: tuple[Check, ...] = (),
    result: EngineResult | None = None,
) -> str:
    """The summary in at most ``width`` columns. Percentiles that the samples do not support are absent.

    With ``result`` also what the summary does not hold: times from the intended start, errors by name, the engine.
    """
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
    if result is not None and result.lag is not None:
        response = histogram.merge([result.read.response_time, result.write.response_time])
        out += line("response", f"{_points(response, s)} from the intended start")
        out += line("lag", f"{_points(result.lag, s)} from the intended start to the issue")
    if s.flushes:
        out += line("flushes", flushes.told(s))
    asked = f" of {s.workload.outstanding} asked" if s.workload.saturates else ""
    out += line("in flight", f"{units.significant(s.outstanding)}{asked} (rate × latency)")
    out += line("samples", f"{units.count(s.ios)} I/Os in {figures.plural(s.rounds, 'round')}")
    if s.cpu_busy is not None:
        busiest = f", the busiest {figures.percent(s.cpu_busiest)}" if s.cpu_busiest is not None else ""
        out += line("processors", f"{figures.percent(s.cpu_busy)} busy{busiest}")
    if s.engine_cpu_ns_per_io is not None:
        out += line("engine", f"{units.duration(s.engine_cpu_ns_per_io)} of processor time per I/O")
    if s.device_in_flight is not None:
        out += line("device", f"{units.significant(s.device_in_flight)} in flight on average")
    if result is not None and (reasons := _lesser(result)):
        out += line("carried by", f"{result.engine['kind']} ({'; '.join(reasons)})")
    named = [] if result is None else [e for d in result.directions for e in d.errors]
    said = [f"{units.count(e.count)} {e.name}, the first at byte {e.first_offset}" for e in named]
    out += line("errors", "; ".join(said) or (units.count(s.errors) if s.errors else "none"))
    for check in checks:
        sign = "cannot be true" if check.impossible else words.CHECK[check.kind]
        out += [paint(x, "yellow") for x in wrap(f"! {sign}: {check.message}", width, "  ", "    ")]
    return "\n".join(out)


def _points(payload: str | None, s: CellSummary) -> str:
    """The percentiles that the samples support, the median if none is."""
    keys = list(s.latency_ns) or ["50"]
    times = histogram.quantiles(payload, [float(key) / 100 for key in keys]) if payload else []
    return " · ".join(f"p{key} {units.duration(t)}" for key, t in zip(keys, times, strict=False))


def _lesser(result: EngineResult) -> list[str]:
    """Where the engine had to do with less than it asks for: a refused ring, buffers that were not registered."""
    reason = result.engine.get("fallback_reason")
    without = [str(x).replace("_", " ", 1) for x in result.engine.get("setup", ()) if str(x).startswith("unregistered")]
    return ([str(reason)] if reason else []) + without
