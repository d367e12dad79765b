"""One workload at one endpoint for the terminal, in the order fio readers expect."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from strata import units
from strata.model import histogram
from strata.model.analysis import THREADS, CellSummary, Check
from strata.model.by_direction import directions_of
from strata.model.caching import Caching
from strata.model.clients import clients_of
from strata.model.course import Aim, Course, Ending, Regime
from strata.model.regime import last_regime
from strata.model.result import EngineResult, ErrorCount, ThreadResult
from strata.model.workload import Cache
from strata.report import figures, flushes, words
from strata.report.clients_text import client_lines
from strata.report.ends_text import cost_words, end_words, flows_line, percentile_words, split_words
from strata.report.text_layout import Paint, field, wrap
from strata.report.trace_text import summary_lines

_LABEL = 12


def measure_text(
    summary: CellSummary,
    endpoint: str,
    width: int,
    color: bool = False,
    checks: tuple[Check, ...] = (),
    result: EngineResult | None = None,
    verbose: bool = False,
    course: Course | None = None,
) -> str:
    """The summary in at most ``width`` columns. Percentiles that the samples do not support are absent.

    With ``result`` also what the summary does not hold: times from the intended start, errors by name, the engine;
    each thread of it when ``verbose`` or when a check says that they differ. With ``course`` the intervals of the
    percentiles, the regimes, and what ended it.
    """
    paint = Paint(color)

    line = partial(field, width=width, column=_LABEL)
    s = summary
    out = paint.lines(wrap(f"{endpoint} · {s.workload.label}", width), "bold")
    out += line("IOPS", f"{units.count(s.iops.value)} {figures.share_error(s.iops)}".rstrip())
    out += line("bandwidth", figures.measured(s.bytes_per_second))
    settled = result if result is None or course is None else last_regime(result, course)
    out += line("latency", " · ".join([f"mean {figures.measured(s.mean_ns)}", *_spread(_of_all(settled))]))
    points = [
        f"p{key} {units.duration(e.value) if course is None else figures.measured(e)}"
        for key, e in s.latency_ns.items()
    ]
    hidden = words.hidden(s.latency_ns, s.ios, by_moments=course is not None)
    for label, text in zip(("percentiles", ""), filter(None, (" · ".join(points), hidden)), strict=False):
        out += line(label, text)
    for label, text in [] if settled is None else _directions(settled):
        out += line(label, text)
    if result is not None and result.lag is not None:
        response = histogram.merge([result.read.response_time, result.write.response_time])
        out += line("response", f"{_points(response, s)} from the intended start")
        out += line("lag", f"{_points(result.lag, s)} from the intended start to the issue")
    if s.flushes:
        out += line("flushes", flushes.told(s))
    if result is not None and (found := clients_of(result)) is not None:
        out += [x for label, text in client_lines(found) for x in line(label, text)]
    if course is not None:
        out += [x for label, text in course_lines(course) for x in line(label, text)]
    asked = f" of {s.workload.outstanding} requested" if s.workload.saturates else ""
    out += line("in flight", f"{units.significant(s.outstanding)}{asked} (rate × latency)")
    out += line("samples", f"{units.count(s.ios)} I/Os in {figures.plural(s.rounds, 'round')}")
    if s.cpu_busy is not None:
        busiest = f", the busiest {figures.percent(s.cpu_busiest)}" if s.cpu_busiest is not None else ""
        out += line("CPUs", f"{figures.percent(s.cpu_busy)} busy{busiest}")
    if s.engine_cpu_ns_per_io is not None:
        parts = ""
        if s.engine_user_ns_per_io is not None and s.engine_system_ns_per_io is not None:
            user, system = units.duration(s.engine_user_ns_per_io), units.duration(s.engine_system_ns_per_io)
            parts = f" ({user} user, {system} system)"
        out += line("engine", f"{units.duration(s.engine_cpu_ns_per_io)} of CPU time per I/O{parts}")
    if s.device_in_flight is not None:
        out += line("device", f"{units.significant(s.device_in_flight)} in flight on average")
    out += summary_lines(s.traces, width)
    for label, text in _both_ends(s, verbose):
        out += line(label, text)
    for label, text in [] if result is None else _in_effect(result):
        out += line(label, text)
    if result is not None and (verbose or any(c.kind == THREADS for c in checks)):
        for number, thread in enumerate(result.threads):
            out += line(f"thread {number}", _thread(thread, result.seconds))
    named = [] if result is None else [e for d in result.directions for e in d.errors]
    said = [f"{units.count(e.count)} {e.name}{_place(e)}" for e in named]
    out += line("errors", "; ".join(said) or (units.count(s.errors) if s.errors else "none"))
    for check in checks:
        sign = "cannot be true" if check.impossible else check.title
        out += paint.lines(wrap(f"! {sign}: {check.message}", width, "  ", "    "), "yellow")
    return "\n".join(out)


def _of_all(result: EngineResult | None) -> histogram.Spread | None:
    both = None if result is None else histogram.merge([result.read.service_time, result.write.service_time])
    return None if both is None else histogram.spread(both)


def _spread(one: histogram.Spread | None) -> list[str]:
    if one is None:
        return []
    named = (("sd", one.sd_ns), ("min", one.min_ns), ("max", one.max_ns))
    return [f"{name} {units.duration(ns)}" for name, ns in named]


def _directions(result: EngineResult) -> Iterator[tuple[str, str]]:
    """Two lines each for reads and writes of a workload that does both: a mean of the two is of neither."""
    found = directions_of(result)
    if len(found) < 2:
        return
    for one in found:
        rates = [f"{units.count(one.iops)} IOPS", units.rate(one.bytes_per_second)]
        yield f"{one.name}s", " · ".join([*rates, f"mean {units.duration(one.mean_ns)}", *_spread(one.spread)])
        points = [f"p{key} {units.duration(ns)}" for key, ns in one.latency_ns.items()]
        yield "", " · ".join(filter(None, [*points, words.hidden(one.latency_ns, one.ios)]))


def _both_ends(s: CellSummary, verbose: bool) -> Iterator[tuple[str, str]]:
    """Bytes at each place, client = wire + server, cycles; with ``verbose`` also percentiles and what was not read."""
    if s.flows:
        yield "bytes", f"{flows_line(s)} per byte"
    for split in s.splits:
        yield "time", split_words(split)
        if verbose and (told := percentile_words(split)):
            yield "", f"{told} (percentiles do not add up)"
    for cost in s.cycles if verbose else [c for c in s.cycles if c.end != "generator"]:
        yield "cycles", f"{end_words(cost)}: {cost_words(cost)}"
    if s.cycles and verbose:
        yield "", s.cycles[0].source
    for note in dict.fromkeys((*s.notes, *(n for split in s.splits for n in split.notes))):
        yield "note", note
    if verbose and s.absent:
        yield "not read", " · ".join(s.absent)


def _place(error: ErrorCount) -> str:
    return "" if error.first_offset is None else f", the first at byte {error.first_offset}"


def _points(payload: str | None, s: CellSummary) -> str:
    """The percentiles that the samples support, the median if none is."""
    keys = list(s.latency_ns) or ["50"]
    times = histogram.quantiles(payload, [float(key) / 100 for key in keys]) if payload else []
    return " · ".join(f"p{key} {units.duration(t)}" for key, t in zip(keys, times, strict=False))


def _carrier(result: EngineResult) -> str | None:
    """Named where it is not Strata's own engine with all that it asks for."""
    reasons, version = _lesser(result), result.engine.get("version")
    if not reasons and version is None:
        return None
    kind = result.engine["kind"] if version is None else f"{version}, its {result.engine['kind']} engine"
    return f"{kind} ({'; '.join(reasons)})" if reasons else kind


def _thread(t: ThreadResult, seconds: float) -> str:
    """Its rate, times, CPU time, switches, and where it ran."""
    parts = [f"{units.count(t.ops / seconds)} IOPS" if seconds else "0 IOPS"]
    parts.append(units.rate((t.read_bytes + t.write_bytes) / seconds if seconds else 0.0))
    if t.service is not None:
        times = [units.duration(x) for x in (t.service.mean_ns, t.service.p99_ns, t.service.max_ns)]
        parts.append("mean {}, p99 {}, max {}".format(*times))
    if t.cpu is not None:
        parts.append(f"{units.duration(t.cpu.user_ns)} user + {units.duration(t.cpu.system_ns)} system per I/O")
    if t.voluntary_switches is not None and t.involuntary_switches is not None:
        voluntary, other = units.count(t.voluntary_switches), units.count(t.involuntary_switches)
        parts.append(f"{voluntary} voluntary, {other} other switches")
    elif t.switches is not None:
        parts.append(f"{units.count(t.switches)} switches")
    if t.run_delay_ns is not None:
        parts.append(f"waited {units.duration(t.run_delay_ns)} for a CPU")
    if t.cpus:
        parts.append(f"{'pinned to' if t.pinned else 'allowed on'} CPUs {t.cpus}")
    if t.memory not in (None, "default"):
        parts.append(f"{t.memory} memory")
    return " · ".join(parts)


def _in_effect(result: EngineResult) -> list[tuple[str, str]]:
    caching = "" if result.caching is None else _caching(result.caching)
    found = [("caching", caching), ("protocol", smb_words(result.effective)), ("data path", _carrier(result))]
    return [(label, text) for label, text in found if text]


def _caching(caching: Caching) -> str | None:
    """``buffered, cold asked; 0 % of 65 536 pages in memory before, 41 % after``; nothing of direct I/O."""
    before, after = caching.before, caching.after
    if caching.asked.direct or before is None:
        return None
    asked = "" if caching.asked.cache == Cache.AS_FOUND else f", {caching.asked.cache} requested"
    text = f"buffered{asked}; {before.words} in memory before"
    if after is not None:
        text += f", {units.percent(after.fraction, 2)} after"
        if after.unwritten:
            text += f" (up to {units.size(after.unwritten * after.page_bytes)} not yet written to the medium)"
    return text


def _lesser(result: EngineResult) -> list[str]:
    """Where the engine had to do with less than it asks for: a refused ring, buffers that were not registered."""
    reason = result.engine.get("fallback_reason")
    without = [str(x).replace("_", " ", 1) for x in result.engine.get("setup", ()) if str(x).startswith("unregistered")]
    return ([str(reason)] if reason else []) + without


def smb_words(effective: dict[str, Any]) -> str | None:
    """``SMB 3.1.1 · encrypted by AES-128-GCM · 2 sessions``, and credits where they were too few; None of no share."""
    agreed = effective.get("smb")
    if not isinstance(agreed, dict):
        return None
    signing, encryption = agreed["signing"], agreed["encryption"]
    words = [str(agreed["dialect"])]
    if encryption != "none":
        words.append(f"encrypted with {encryption}")
    else:
        words.append("neither signed nor encrypted" if signing == "none" else f"signed with {signing}, not encrypted")
    if agreed["channels"] > 1:
        words.append(f"{agreed['channels']} channels per session")
    elif agreed["sessions"] > 1:
        words.append(f"{agreed['sessions']} sessions")
    if several := agreed.get("addresses"):
        words.append(f"over {len(several)} cards of the server: {', '.join(several)}")
    credits, needed = agreed["credits"], agreed["credits_needed"]
    if credits < needed:
        words.append(
            f"{units.count(credits)} credits, but the depth needs {units.count(needed)}: requests waited for "
            "credits, and the latency includes that"
        )
    return " · ".join(words)


_ENDED = {
    Ending.PRECISION: "the requested precision was reached",
    Ending.TIME: "the time limit was reached",
    Ending.BYTES: "the byte limit was reached",
    Ending.STARTS: "this run is as precise as requested; variation between identical runs prevents that for their mean",
}


def course_lines(course: Course) -> list[tuple[str, str]]:
    """(label, text) of each line: what ended it, the ramp, and the regimes where there is more than one."""
    seconds = course.regimes[-1].end_s
    found = [("ended by", f"{_ended(course)}, after {seconds:.3g} s")]
    steady = "steady" if course.steady else "alternates" if course.alternates else "not steady"
    ramp = f", first {course.ramp_s:.3g} s excluded as ramp" if course.ramp_s > 0 else ""
    worth = f"{units.significant(course.effective)} independent samples, correlated over {course.correlation_s:.2g} s"
    found.append(("course", f"{steady}{ramp}; equivalent to {worth}"))
    found.append(("starts", _starts(course)))
    found.append(("criterion", course.criterion))
    if len(course.regimes) > 1:
        found += [(f"regime {n}", _regime(r, last=r is course.regimes[-1])) for n, r in enumerate(course.regimes, 1)]
    return found


def _starts(course: Course) -> str:
    if course.between is None:
        return "the variation between identical runs is not known here yet; ± covers this run only"
    known = "" if course.between_df is None else f" (about {figures.plural(round(course.between_df) + 1, 'run')})"
    if course.between == 0:
        return f"earlier identical runs varied no more than samples within one run explain{known}"
    share = figures.percent(course.between)
    return f"earlier identical runs varied by {share}{known}; included in ± of IOPS and bandwidth"


def _ended(course: Course) -> str:
    if course.ended is None:
        return "an external stop"
    text = _ENDED[course.ended]
    if course.ended is Ending.PRECISION and course.reached is False:
        return "the requested precision was reached; samples that arrived while stopping widened the intervals again"
    if course.aim is None or course.reached or course.ended is Ending.STARTS:
        return text
    return f"{text} before {_asked(course.aim)} was reached"


def _asked(aim: Aim) -> str:
    tail = "" if aim.percentile is None else f" and p{aim.percentile} ±{figures.percent(aim.percentile_within)}"
    return f"±{figures.percent(aim.mean)}{tail}"


def _regime(one: Regime, *, last: bool) -> str:
    state = "steady" if one.steady else "not steady"
    where = units.span(f"{one.start_s:.3g} s", f"{one.end_s:.3g} s")
    return f"{where}: {figures.measured(one.iops)}, {state}" + ("; used for the figures above" if last else "")
