"""A sweep for the terminal and as Markdown: points, the curve of each layer, open loops, and what a change brings."""

from __future__ import annotations

from collections.abc import Sequence

from strata import units
from strata.model.axis import Axis
from strata.model.estimate import Estimate
from strata.model.percentiles import SHOWN_PERCENTILES
from strata.model.scale import CacheEnd, OpenPoint, ScaleCurve, ScaledTask, ScalePoint, ScaleResult, WhatIf
from strata.report import figures
from strata.report.markdown import bullets, escape, gfm
from strata.report.text_layout import Paint, clean, table, wrap

NONE = "–"
USED = 2
"""Resources that a row names: the fullest."""


def scale_text(result: ScaleResult, width: int, color: bool = False) -> str:
    """In at most ``width`` columns."""
    paint = Paint(color)
    out = paint.lines(wrap(head_words(result), width), "bold")
    for layer in result.layers:
        points, curve = result.of(layer), result.curve(layer)
        head, rows = point_rows(points, result.ask.axis)
        numeric = frozenset(range(len(head) - 1))
        lines = table(head, rows, width, numeric=numeric, elastic=frozenset({len(head) - 1}))
        out += ["", paint(clean(layer), "bold"), paint(lines[0], "dim"), *lines[1:], ""]
        first, *more = curve_lines(curve, result.ask.axis)
        out += paint.lines(wrap(f"CURVE   {first}", width, "", "        "), "bold")
        for line in more:
            out += wrap(line, width, "  ", "    ")
        opened = [o for o in result.open_points if o.layer == layer]
        if opened:
            lines = table(OPEN_HEAD, map(open_row, opened), width, numeric=frozenset({0, 1, 2, 3, 4}))
            out += ["", "  OPEN LOOP: I/Os arrive at this rate, whether or not earlier ones are complete", *lines]
        for answer in (a for a in result.what_if if a.layer == layer):
            first, *more = what_if_lines(answer, result.ask.axis)
            out += ["", *paint.lines(wrap(f"WHAT IF {first}", width, "", "        "), "bold")]
            out += [line for text in more for line in wrap(text, width, "  ", "    ")]
    if result.tasks:
        head = task_head(result.tasks)
        numeric = frozenset(range(1, len(head)))
        lines = table(head, map(task_row, result.tasks), width, numeric=numeric, elastic=frozenset({0}))
        out += ["", paint(lines[0], "dim"), *lines[1:], "", *wrap(TASKS, width, "  ", "  ")]
    for remark in result.remarks:
        out += ["", *wrap(remark, width)]
    return "\n".join(out)


def head_words(result: ScaleResult) -> str:
    """Where, over what, and how much was measured."""
    if result.tasks and not result.points:
        return f"{result.where} · {figures.plural(len(result.tasks), 'figure')} before and after"
    axis = result.ask.axis.value
    points = figures.plural(len(result.points), "point")
    label = ""
    if result.points and (w := result.points[0].workload) is not None:
        label = f"{w.pattern} · " + ("" if result.ask.axis is Axis.BS else f"{units.size(w.bs)} · ")
    text = f"{result.where} · {label}over {axis} · {points}"
    if result.run is None:
        return text
    return f"{text} · measured for {units.duration(result.seconds * 1e9)} · ended: {result.ended}"


def value_words(value: float, axis: Axis) -> str:
    """A value of the axis: ``8``, ``64 KiB``; of a fitted one two digits behind."""
    return units.size(round(value)) if axis.size else f"{value:.3g}"


def point_rows(points: Sequence[ScalePoint], axis: Axis) -> tuple[list[str], list[list[str]]]:
    """The head and a row for each point; columns that no point has are left out."""
    columns: list[tuple[str, list[str]]] = [
        (axis.value, [value_words(p.value, axis) for p in points]),
        ("IOPS", [units.count(p.iops.value) for p in points]),
        ("±", [figures.share_error(p.iops).removeprefix("±") for p in points]),
    ]
    if axis.means:
        first = points[0].iops.value
        columns.append(("gain", [f"{p.iops.value / first:.2f}×" for p in points]))
    if axis is Axis.BS:
        columns.append(("rate", [NONE if (b := p.bytes_per_second) is None else units.rate(b.value) for p in points]))
    for name in SHOWN_PERCENTILES:
        columns.append((f"p{name}", [_time(p.latency_ns.get(name)) for p in points]))
    # A server that tells no percentiles has means; of reads and writes together each direction has its own.
    told = any(name.startswith("90.") and name.endswith("server") for p in points for name in p.latency_ns)
    key, head = ("90", "p90") if told else ("mean", "mean")
    for side in ("", "read.", "write."):
        for end in (f"{side}server", f"{side}wire"):
            times = [_time(p.latency_ns.get(f"{key}.{end}")) for p in points]
            columns.append((f"{head} {end.replace('.', ' ')}", times))
    for side in ("read", "write"):
        columns.append((f"p90 {side}", [_time(p.latency_ns.get(f"90.{side}")) for p in points]))
    columns += [("cycles/B", [cycles(p, "byte") for p in points]), ("cycles/IO", [cycles(p, "io") for p in points])]
    columns.append(("busiest", [busiest(p) for p in points]))
    shown = [(name, cells) for name, cells in columns if any(c not in ("", NONE) for c in cells)]
    return [name for name, _ in shown], [list(row) for row in zip(*(cells for _, cells in shown), strict=True)]


def _time(e: Estimate | None) -> str:
    return NONE if e is None else units.duration(e.value)


def cycles(point: ScalePoint, of: str) -> str:
    """Kernel cycles of the whole machine for each byte or I/O, and of a server beside it."""
    found = [c for c in point.cycles if c.end == "machine" or c.end.startswith("server")]
    told = [c.kernel_per_byte if of == "byte" else c.kernel_per_io for c in found]
    return " / ".join(units.significant(e.value, 3) if e.value < 1000 else units.count(e.value) for e in told) or NONE


def busiest(point: ScalePoint) -> str:
    """The fullest resources and their shares, in the words of ``--what-if``."""
    return ", ".join(f"{b.name} {figures.percent(b.share)}" for b in point.busy[:USED])


def curve_lines(curve: ScaleCurve, axis: Axis) -> list[str]:
    """Which curve, its limit and knee, and what is full there; why there is none."""
    if curve.form is None:
        return [f"none: {curve.refused}", *([] if curve.cache is None else [cache_words(curve.cache)])]
    named = ", ".join(f"{name} {value:.4g}" for name, value in curve.parameters.items())
    out = [f"{curve.form} ({named}); the points deviate from it by {figures.percent(curve.rms or 0)}"]
    if curve.knee is None:
        out.append(f"Knee: not reached: the rate still rises at {axis.value} {_last(curve, axis)}")
    else:
        where = "; it is beyond the measured range" if curve.beyond else ""
        knee = between(curve.knee, axis)
        out.append(f"Knee: {axis.value} {knee}: beyond it, more load adds more time than rate{where}")
    if curve.limit is not None:
        note = " (extrapolated beyond the measured range)" if curve.beyond else ""
        at = (
            ""
            if curve.limit_at is None
            else f", at {axis.value} {between(curve.limit_at, axis)}; beyond it the rate falls"
        )
        out.append(f"Limit: {amounts(curve.limit)}{note}{at}")
    if curve.worth is not None:
        out.append(f"Worth doubling up to {axis.value} {between(curve.worth, axis)}")
    if curve.saturated is not None:
        out.append(f"Saturated at the knee: {curve.saturated.says}")
    return out


def cache_words(cache: CacheEnd) -> str:
    """How large it is, and what it does for the largest working set."""
    low, high = cache.size.low, cache.size.high
    ends = "" if low is None or high is None else f" ({units.size(round(low))} to {units.size(round(high))})"
    return (
        f"Cache: {units.size(round(cache.size.value))}{ends}; a miss takes {cache.times:.2g} times as long as a hit. "
        f"Of a working set of {units.size(cache.largest)} it answers {figures.percent(cache.answers)} of the reads, "
        f"and twice the cache {figures.percent(min(1.0, 2 * cache.answers))}"
    )


def _last(curve: ScaleCurve, axis: Axis) -> str:
    # The band goes half as far again as the points.
    return value_words(curve.band[-1][0] / 1.5, axis) if curve.band else NONE


def between(e: Estimate, axis: Axis) -> str:
    """``8.3 (8.2–8.4)``; an open end is said."""
    if e.low is None and e.high is None:
        return value_words(e.value, axis)
    low = "?" if e.low is None else value_words(e.low, axis)
    high = "?" if e.high is None else value_words(e.high, axis)
    return f"{value_words(e.value, axis)} ({low}–{high})"


def amounts(e: Estimate) -> str:
    """``1 998 IOPS (1 994–2 001)``."""
    text = figures.amount(e.value, e.unit)
    if e.low is not None and e.high is None:
        return f"{text} ({figures.amount(e.low, e.unit)} or more)"
    if e.low is None or e.high is None:
        return text
    return f"{text} ({figures.amount(e.low, e.unit)} to {figures.amount(e.high, e.unit)})"


TASKS = (
    "scales: the share of the time that became shorter (Amdahl). The rest of the time does not depend on the number."
)


def task_head(tasks: Sequence[ScaledTask]) -> list[str]:
    """The head of the figures before and after."""
    k, of = tasks[0].factor, tasks[0].of
    return [f"with {k:g} times the {of}", "before", "after", "times as fast", "scales", f"{k:g}× again", "at most"]


def task_row(task: ScaledTask) -> list[str]:
    """One figure before and after: how much of it scales, and what more of them would bring."""
    if task.measured is not None:
        before, after = (f"{units.duration(e.value)} {figures.share_error(e)}".strip() for e in task.measured)
    else:
        before, after = (NONE if v is None else units.significant(v, 4) for v in (task.before, task.after))
    low, high = task.part.low, task.part.high
    part = f"{100 * task.part.value:.0f} %"
    part += "" if low is None or high is None else f" ({100 * low:.0f}–{100 * high:.0f})"
    most = NONE if task.most is None else f"{task.most:.2f}×"
    return [task.name, before, after, f"{task.times:.2f}×", part, f"{task.again:.2f}×", most]


OPEN_HEAD = ("of the limit", "requested", "IOPS", "p50", "p90", "kept up")


def open_row(o: OpenPoint) -> list[str]:
    """One rate of arrivals."""
    times = [units.duration(o.response_ns[p]) if p in o.response_ns else NONE for p in ("50", "90")]
    kept = "yes" if o.kept_up else "no: the queue grows"
    return [figures.percent(o.share), units.count(o.asked), units.count(o.iops.value), *times, kept]


def what_if_lines(answer: WhatIf, axis: Axis) -> list[str]:
    """The prediction, and what it rests on."""
    if answer.gain is None or answer.rate is None or answer.load is None:
        return [f"{answer.asked}: no prediction: {answer.refused}"]
    low, high = answer.gain.low, answer.gain.high
    ends = "" if low is None or high is None else f" ({low:.2f}–{high:.2f})"
    at = value_words(answer.load, axis)
    first = f"{answer.asked}: {answer.gain.value:.2f}{ends} times the rate at {axis.value} {at}: {amounts(answer.rate)}"
    return [first, f"Based on {answer.rests_on}."]


def scale_markdown(result: ScaleResult) -> str:
    """The same for a merge request; a trailing newline is not added."""
    blocks = [f"### Strata: {escape(head_words(result))}"]
    for layer in result.layers:
        head, rows = point_rows(result.of(layer), result.ask.axis)
        blocks.append(f"**{escape(layer)}**")
        blocks.append(gfm([escape(h) for h in head], [[escape(c) for c in row] for row in rows], 0))
        blocks.append(bullets(curve_lines(result.curve(layer), result.ask.axis)))
        if opened := [open_row(o) for o in result.open_points if o.layer == layer]:
            blocks.append(gfm(list(OPEN_HEAD), [[escape(c) for c in row] for row in opened], 0))
        answers = [" ".join(what_if_lines(a, result.ask.axis)) for a in result.what_if if a.layer == layer]
        blocks.append(bullets(f"What if {text}" for text in answers))
    if result.tasks:
        rows = [[escape(c) for c in task_row(t)] for t in result.tasks]
        blocks += [gfm([escape(h) for h in task_head(result.tasks)], rows, 1), TASKS]
    blocks.append(bullets(result.remarks))
    host, made = result.environment.get("hostname"), result.created_unix_ns
    parts = [
        f"run {result.run}" if result.run else "",
        str(host or ""),
        figures.utc(made) if made else "",
        result.repeat,
    ]
    blocks.append(f"<sub>{escape(' · '.join(p for p in parts if p))}</sub>" if any(parts) else "")
    return "\n\n".join(b for b in blocks if b)
