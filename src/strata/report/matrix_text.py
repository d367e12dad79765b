"""A matrix for the terminal: for each layer and pattern a table of depth × size, and what it is worth."""

from __future__ import annotations

from strata import units
from strata.model.matrix import Given, MatrixCell, MatrixResult, Prediction
from strata.report import figures
from strata.report.textual import Paint, clean, right, wrap

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
    out = [paint(x, "bold") for x in wrap(head_words(result), width)]
    out += wrap(worth_words(result), width, "  ")
    for layer in result.layers:
        for pattern in result.ask.grid.patterns:
            cells = [c for c in result.cells if c.layer == layer and c.pattern == pattern]
            if not cells:
                continue
            name = f"{layer} · {pattern} · IOPS" if len(result.layers) > 1 else f"{pattern} · IOPS"
            out += ["", paint(clean(name), "bold"), *_table(result, cells, width, paint)]
    out += ["", *(paint(x, "dim") for x in wrap(LEGEND, width)), *_footer(result, width, paint)]
    return "\n".join(out)


def head_words(result: MatrixResult) -> str:
    """Where, which matrix, and the time it took."""
    grid = result.ask.grid
    axes = f"{len(grid.depths)} depths × {len(grid.sizes)} sizes × {figures.plural(len(grid.patterns), 'pattern')}"
    return f"{result.where} · {grid.name} matrix · {axes} · {_time(result.seconds)} of {_time(result.ask.budget_s)}"


def worth_words(result: MatrixResult) -> str:
    """How sure the cells are."""
    known = [c for c in result.cells if c.iops is not None]
    if not known:
        return "nothing was measured"
    halves = sorted(share(c) for c in known)
    smoothed = sum(c.given is Given.SMOOTHED for c in known)
    middle, high = halves[len(halves) // 2], halves[min(len(halves) - 1, int(0.95 * len(halves)))]
    said = f"{figures.plural(len(known), 'cell')}, {smoothed} of them smoothed; 95 % intervals: half of the cells"
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
    sizes = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    gap = 2 if sum(sizes) + 2 * len(sizes) <= width else 1
    if sum(sizes) + gap * len(sizes) > width:
        return _stacked(head, rows, width, paint)
    lines = [" " * gap + (" " * gap).join(right(x, sizes[i]) for i, x in enumerate(row)) for row in [head, *rows]]
    return [paint(lines[0], "dim"), *lines[1:]]


def _stacked(head: list[str], rows: list[list[str]], width: int, paint: Paint) -> list[str]:
    """Columns in two or more blocks under each other, where they do not fit side by side."""
    sizes = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    out: list[str] = []
    at = 1
    while at < len(head):
        used, end = sizes[0] + 2, at
        while end < len(head) and used + sizes[end] + 2 <= max(width, sizes[0] + sizes[at] + 6):
            used += sizes[end] + 2
            end += 1
        for number, row in enumerate([head, *rows]):
            line = "  " + "  ".join(right(row[i], sizes[i]) for i in (0, *range(at, end)))
            out.append(paint(line, "dim") if number == 0 else line)
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
        out += [paint(x, "yellow") for x in wrap(f"! {remark}", width, "", "  ")]
    skipped: dict[str, int] = {}
    for c in result.cells:
        if c.why is not None:
            skipped[f"{c.layer}: {c.why}"] = skipped.get(f"{c.layer}: {c.why}", 0) + 1
    for why, n in skipped.items():
        out += wrap(f"– {figures.plural(n, 'cell')} {why}", width, "", "  ")
    return [*out, paint(f"run {clean(result.run)}", "dim")]


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


def prediction_words(told: Prediction) -> str:
    """The same in one line."""
    return "; ".join(x.strip() for x in prediction_lines(told, _ANY))


def prediction_lines(told: Prediction, width: int) -> list[str]:
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
