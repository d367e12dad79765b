"""A matrix for the terminal and as Markdown: for each layer and pattern a table of depth × size, and what it is worth.

Before it is measured: cells, time, predicted error and every byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from strata import units
from strata.model.matrix import BudgetPrediction, Given, MatrixCell, MatrixResult
from strata.model.plan import Plan
from strata.report import figures
from strata.report.markdown import bullets, escape, folded, gfm
from strata.report.text_layout import Paint, clean, field, right, wrap

SMOOTHED, KINK, MOVED, GENERATOR = "~", "^", "?", "g"
LEGEND = (
    "~ smoothed · ^ kink, not smoothed · ? changed between visits · g near the load generator's limit · – not measured"
)
WIDE = 140
_ANY = 10_000
"""Columns in which no sentence is broken."""


def matrix_text(result: MatrixResult, width: int, color: bool = False) -> str:
    """In at most ``width`` columns; from `WIDE` on every cell shows its interval, below that each row its widest."""
    paint = Paint(color)
    out = paint.lines(wrap(head_words(result), width), "bold")
    out += wrap(worth_words(result), width, "  ")
    for name, cells in panels(result):
        if cells:
            out += ["", paint(clean(f"{name} · IOPS"), "bold"), *_table(result, cells, width, paint)]
    out += ["", *paint.lines(wrap(LEGEND, width), "dim"), *_footer(result, width, paint)]
    return "\n".join(out)


def panels(result: MatrixResult) -> list[tuple[str, list[MatrixCell]]]:
    """(name, cells) of each pattern at each layer; without the layer where there is one."""
    pairs = [(layer, pattern) for layer in result.layers for pattern in result.ask.grid.patterns]
    names = [" · ".join(pair) if len(result.layers) > 1 else pair[1] for pair in pairs]
    cells = ([c for c in result.cells if (c.layer, c.pattern) == pair] for pair in pairs)
    return list(zip(names, cells, strict=True))


def head_words(result: MatrixResult) -> str:
    """Where, which matrix, and the time it took."""
    grid = result.ask.grid
    axes = " × ".join(
        figures.plural(len(values), what)
        for what, values in (("depth", grid.depths), ("size", grid.sizes), ("pattern", grid.patterns))
    )
    return f"{result.where} · {grid.name} matrix · {axes} · {_time(result.seconds)} of {_time(result.ask.budget_s)}"


def worth_words(result: MatrixResult) -> str:
    """How sure the cells are."""
    known = [c for c in result.cells if c.iops is not None]
    if not known:
        return "nothing was measured"
    halves = sorted(share(c) for c in known)
    smoothed = sum(c.given is Given.SMOOTHED for c in known)
    middle, high = halves[len(halves) // 2], halves[min(len(halves) - 1, int(0.95 * len(halves)))]
    said = f"{figures.plural(len(known), 'cell')}, {smoothed} of them smoothed; 95 % intervals: half of the cells "
    said += f"within ±{figures.percent(middle)}, 95 % within ±{figures.percent(high)}"
    return f"{said}; ended by {result.ended}"


def share(cell: MatrixCell) -> float:
    """Half of the given interval as a share of the value."""
    one = cell.iops
    if one is None or one.half_width is None:
        return float("inf")
    return one.half_width / one.value


def error(cell: MatrixCell) -> str:
    """``±1.2 %`` of the given value; empty without one."""
    return "" if cell.iops is None else figures.share_error(cell.iops)


def _table(result: MatrixResult, cells: list[MatrixCell], width: int, paint: Paint) -> list[str]:
    grid = result.ask.grid
    by = {(c.iodepth, c.bs): c for c in cells}
    wide = width >= WIDE
    rows = []
    for depth in grid.depths:
        found = [by.get((depth, bs)) for bs in grid.sizes]
        row = [str(depth), *(_cell(c, wide) for c in found)]
        if not wide:
            known = [c for c in found if c is not None and c.iops is not None]
            row.append(error(max(known, key=share)) if known else "")
        rows.append(row)
    head = ["depth", *(units.size(bs) for bs in grid.sizes), *([] if wide else ["widest"])]
    return _stacked([head, *rows], width, paint)


def _stacked(rows: list[list[str]], width: int, paint: Paint) -> list[str]:
    """Columns set two apart, one where that makes them fit; else in two or more blocks under each other."""
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    last = len(sizes)
    gap = " " if sum(sizes) + last <= width < sum(sizes) + 2 * last else "  "
    out: list[str] = []
    at = 1
    while at < last:
        used, end = sizes[0] + len(gap), at
        while end < last and used + sizes[end] + len(gap) <= max(width, sizes[0] + sizes[at] + 6):
            used += sizes[end] + len(gap)
            end += 1
        lines = [gap + gap.join(right(row[i], sizes[i]) for i in (0, *range(at, end))) for row in rows]
        out += [paint(lines[0], "dim"), *lines[1:]]
        at = end
    return out


def _cell(cell: MatrixCell | None, wide: bool) -> str:
    if cell is None or cell.iops is None:
        return "– "
    text = short(cell.iops.value)
    if wide:
        text += f" {error(cell)}"
    return text + mark(cell)


def mark(cell: MatrixCell) -> str:
    """One sign, a space where there is nothing to say."""
    if cell.moved:
        return MOVED
    if cell.kink:
        return KINK
    if cell.generator_bound:
        return GENERATOR
    return SMOOTHED if cell.given is Given.SMOOTHED else " "


def short(value: float) -> str:
    """Four digits and a factor: ``812``, ``12.35k``, ``1.204M``: narrow enough for eight columns."""
    for factor, unit in ((1e6, "M"), (1e3, "k")):
        if float(f"{value:.4g}") >= factor:
            return f"{units.significant(float(f'{value:.4g}') / factor, 4)}{unit}"
    return units.significant(value, 4) if value < 100 else f"{value:.0f}"


def _footer(result: MatrixResult, width: int, paint: Paint) -> list[str]:
    out = []
    if result.noise is not None:
        out += wrap(noise_words(result), width)
    if result.held_out is not None:
        h = result.held_out
        out += wrap(
            f"cross-check: {figures.plural(h.cells, 'cell')} predicted before they were measured again; half of the "
            f"predictions within {figures.percent(h.error_median)}, 95 % within {figures.percent(h.error_p95)}; "
            f"{figures.percent(h.within_interval)} inside the predicted interval",
            width,
        )
    fixed = len([c for c in result.cells if c.iops is not None]) * 60
    if fixed and result.seconds:
        out += wrap(
            f"overhead of {_time(result.start_s)} for each visit, beside the measured time; at a fixed 60 s per cell "
            f"it would have taken {_time(fixed)}, {fixed / result.seconds:.0f} times as long; "
            f"{units.size(result.written)} written",
            width,
        )
    for remark in result.remarks:
        out += paint.lines(wrap(f"! {remark}", width, "", "  "), "yellow")
    for why, n in _absent(result):
        out += wrap(f"– {figures.plural(n, 'cell')} {why}", width, "", "  ")
    return [*out, paint(f"run {clean(result.run)}", "dim")]


def _absent(result: MatrixResult) -> Iterable[tuple[str, int]]:
    """Why cells have no figure, and how many."""
    return Counter(f"{c.layer}: {c.why}" for c in result.cells if c.why is not None).items()


def noise_words(result: MatrixResult) -> str:
    """What the noise is and where it is known from."""
    n = result.noise
    if n is None:
        return ""
    earlier = f", from this and {figures.plural(len(n.runs), 'earlier run')}" if n.runs else ""
    between, second = figures.percent(n.between), figures.percent(n.variance_s**0.5)
    said = (
        f"noise{earlier}: identical starts vary by {between}; one second of measurement determines a typical cell to "
        f"{second}"
    )
    return f"{said}; samples are correlated over {_time(n.correlation_s)}"


def prediction_words(told: BudgetPrediction) -> str:
    """The same in one line."""
    return "; ".join(x.strip() for x in prediction_lines(told, _ANY))


def prediction_lines(told: BudgetPrediction, width: int) -> list[str]:
    """What the budget will bring, and what the target would take."""
    out = wrap(
        f"about {_time(told.seconds)}, {told.seconds_a_cell:.2g} s per cell; predicted error ({told.known_from}): "
        f"median {figures.percent(told.error_median)}, 95th percentile {figures.percent(told.error_p95)}, typical "
        f"interval ±{figures.percent(told.half_width)}; smoothing makes it smaller",
        width, "  ",
    )  # fmt: skip
    asked = f"±{figures.percent(told.target)} in every cell"
    if told.seconds_for_target is None:
        why = "identical starts vary by too much"
        if told.seconds_low is not None:
            why += f", as far as that variation is known; if they vary by less, {_time(told.seconds_low)} or more"
        return [*out, *wrap(f"no measuring time gives {asked}: {why}", width, "  ")]
    takes = f"{asked} would take about {_time(told.seconds_for_target)}"
    if told.seconds_low is not None:
        most = "no bound is known" if told.seconds_high is None else f"at most {_time(told.seconds_high)}"
        takes += f" (with a probability of 80 % at least {_time(told.seconds_low)}, {most})"
    return [*out, *wrap(takes, width, "  ")]


def _time(seconds: float) -> str:
    return units.duration(seconds * units.NS_PER_S)


def matrix_markdown(result: MatrixResult) -> str:
    """Headline, tables, legend and what it is worth; a trailing newline is not added."""
    blocks = [f"### Strata: {escape(head_words(result))}", escape(worth_words(result))]
    for name, cells in panels(result):
        if cells:
            blocks += [f"**{escape(name)}, IOPS**", _gfm(result, cells)]
    blocks += [escape(LEGEND), escape(noise_words(result)), _remarks(result), _foretold(result)]
    blocks.append(f"<sub>{escape(_origin(result))}</sub>")
    return "\n\n".join(b for b in blocks if b)


def _gfm(result: MatrixResult, cells: list[MatrixCell]) -> str:
    by = {(c.iodepth, c.bs): c for c in cells}
    head = ["depth", *(units.size(bs) for bs in result.ask.grid.sizes)]
    rows = [[str(depth), *(_gfm_cell(by.get((depth, bs))) for bs in result.ask.grid.sizes)]
            for depth in result.ask.grid.depths]  # fmt: skip
    return gfm(head, rows, 0)


def _gfm_cell(cell: MatrixCell | None) -> str:
    if cell is None or cell.iops is None:
        return "–"
    # A sign that would begin markup stands as text.
    return f"{short(cell.iops.value)} {error(cell)}{escape(mark(cell).strip())}"


def _origin(result: MatrixResult) -> str:
    """Which run, on which host, when, and the command that measures it again."""
    host, made = result.environment.get("hostname"), result.created_unix_ns
    parts = [f"run {result.run}", str(host or ""), "" if made is None else figures.utc(made), result.repeat]
    return " · ".join(p for p in parts if p)


def _remarks(result: MatrixResult) -> str:
    return bullets([*result.remarks, *(f"– {figures.plural(n, 'cell')} {why}" for why, n in _absent(result))])


def _foretold(result: MatrixResult) -> str:
    return folded("Predictions", bullets(map(prediction_words, result.predictions))) if result.predictions else ""


def matrix_plan_text(plan: Plan, told: BudgetPrediction, width: int, color: bool = False) -> str:
    """In at most ``width`` columns, an endpoint longer than that whole."""
    paint = Paint(color)
    ask = plan.matrix
    assert ask is not None, "not a matrix"
    grid = ask.grid
    measured = [c for c in plan.cells if c.skip is None]
    layers = figures.plural(len(plan.stack.layers), "layer")
    out = paint.lines(wrap(f"{clean(plan.stack.name)} · {grid.name} matrix · {layers}", width), "bold")
    fixed = f"at a fixed 60 s per cell it would take {_time(len(measured) * 60)}"
    out += wrap(f"{len(measured)} cells in {_time(ask.budget_s)}; {fixed}", width, "  ")
    out += prediction_lines(told, width)
    out.append("")
    out += field("depths", ", ".join(map(str, grid.depths)), width, column=8)
    out += field("sizes", ", ".join(map(units.size, grid.sizes)), width, column=8)
    out += field("patterns", ", ".join(grid.patterns), width, column=8)
    caching = "unbuffered" if plan.workloads[0].direct else "buffered"
    out += field("caching", caching + _sync(plan), width, column=8)
    if (clients := max(w.clients for w in plan.workloads)) > 1:
        out += field("clients", f"{units.count(clients)}, each with these depths", width, column=8)
    out.append("")
    for i, layer in enumerate(plan.stack.layers, 1):
        some = sum(c.layer == layer.name for c in measured)
        out += [
            f"{i:>3}  {paint(clean(layer.name), 'bold')} · {figures.plural(some, 'cell')}",
            f"     {clean(layer.endpoint)}",
        ]
    skipped = Counter(f"{c.layer}: {c.skip}" for c in plan.cells if c.skip is not None)
    out.append("")
    for why, n in skipped.items():
        out += wrap(f"– {why} ({figures.plural(n, 'cell')})", width, "", "  ")
    writes = f"writes at most {units.size(plan.bytes_written)} ({units.count(plan.bytes_written)} bytes)"
    own = f", including its own file of {units.size(plan.file_size)}" if plan.file_size else ""
    out += wrap(f"{writes}{own}; writing stops there" if plan.bytes_written else "writes nothing", width)
    return "\n".join(out)


def _sync(plan: Plan) -> str:
    found = {w.sync.value for w in plan.workloads if w.rw.carries}
    return (
        "" if not found else ", writes not durable" if found == {"none"} else f", writes write-through ({found.pop()})"
    )
