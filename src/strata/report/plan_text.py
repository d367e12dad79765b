"""A plan for the terminal: what would run, what would not and why, how long, and every byte it would write."""

from __future__ import annotations

from strata import units
from strata.model.plan import Plan, StepKind
from strata.model.workload import Workload
from strata.report import figures
from strata.report.ladder import group_words
from strata.report.text_layout import Paint, clean, table, wrap


def plan_text(plan: Plan, width: int, color: bool = False) -> str:
    """The plan in at most ``width`` columns (an endpoint longer than that stays whole, so that it can be copied)."""
    paint = Paint(color)
    steps = [s for s in plan.steps if s.kind is StepKind.MEASURE]
    head = [plan.stack.name, figures.plural(len(plan.stack.layers), "layer")]
    head += [figures.plural(len(plan.workloads), "workload"), figures.plural(plan.rounds, "interleaved round")]
    out = paint.lines(wrap(" · ".join(head), width), "bold")
    each = f"{figures.plural(len(steps), 'step')} of {plan.ramp_s:g} s ramp and {plan.runtime_s:g} s measurement"
    about = "about" if plan.further is None else "at most about"
    out += wrap(f"{each} · {about} {units.duration(plan.seconds * units.NS_PER_S)} in total", width, "  ")
    if plan.further is not None:
        what = "further rounds where the result is unclear, and experiments" if plan.further.detail else "experiments"
        said = f"of which at most {units.duration(plan.further.seconds * units.NS_PER_S)} for {what}"
        out += wrap(f"{said}, which write at most {units.size(plan.further.bytes_written)}", width, "  ")
    out.append("")
    for i, layer in enumerate(plan.stack.layers, 1):
        against = f"compared with {', '.join(layer.against)}" if layer.against else "baseline"
        if layer.on not in ((), layer.against):
            against = f"on {', '.join(layer.on)} · {against}"
        allowed = layer.expect.overhead_max
        expected = f" · allowance {allowed * 100:.3g} %" if allowed is not None else ""
        expected += f" · may be faster ({layer.expect.faster})" if layer.expect.faster else ""
        out += paint.lines(wrap(f"{layer.name} · {against}{expected}", width, f"{i:>3}  ", "     "), "bold")
        out.append(f"     {clean(layer.endpoint)}")
    out += ["", *_cells(plan, width, paint), ""]
    if plan.precondition is not None:
        b = plan.precondition
        limits = f"at most {units.duration(b.seconds_max * units.NS_PER_S)} and {units.size(b.bytes_max)}"
        out += wrap(f"each write workload is first run until its rate is steady: {limits} for each", width)
    written = f"writes at most {units.size(plan.bytes_written)} ({units.count(plan.bytes_written)} bytes)"
    assumed = f"its own file of {units.size(plan.file_size)}, then writes at up to {units.rate(plan.assumed_write_bps)}"
    out += wrap(f"{written}: {assumed}" if plan.bytes_written else "writes nothing", width)
    return "\n".join(out)


def _cells(plan: Plan, width: int, paint: Paint) -> list[str]:
    """Workloads × layers by number: how often each cell is measured, and why the others are not."""
    runs: dict[str, int] = {}
    for step in plan.steps:
        runs[step.cell] = runs.get(step.cell, 0) + 1
    cells = {(c.layer, c.workload.key): c for c in plan.cells}
    rows: list[list[str]] = []
    skipped: dict[tuple[str, str], list[Workload]] = {}
    for w in plan.workloads:
        row = [w.pattern, w.shape]
        for layer in plan.stack.layers:
            cell = cells.get((layer.name, w.key))
            row.append(f"{runs.get(cell.key, 0)}×" if cell is not None and cell.skip is None else "–")
            if cell is not None and cell.skip is not None:
                skipped.setdefault((layer.name, cell.skip), []).append(w)
        rows.append(row)
    numbers = [str(i) for i in range(1, len(plan.stack.layers) + 1)]
    numeric = frozenset(range(2, 2 + len(numbers)))
    lines = table(["measured at layer", "", *numbers], rows, width, numeric, elastic=frozenset({1}))
    lines[0] = paint(lines[0], "bold")
    for (name, why), some in skipped.items():
        of_layer = [w for w in plan.workloads if (name, w.key) in cells]
        told = group_words(some, of_layer, [w.label for w in some])
        lines += paint.lines(wrap(f"– {name}: {why} ({told})", width, "  ", "    "), "dim")
    return lines
