"""A matrix before it is measured: cells, time, predicted error and every byte."""

from __future__ import annotations

from strata import units
from strata.model.matrix import Prediction
from strata.model.plan import Plan
from strata.report import figures
from strata.report.matrix_text import prediction_lines
from strata.report.textual import Paint, clean, wrap


def matrix_plan_text(plan: Plan, told: Prediction, width: int, color: bool = False) -> str:
    """In at most ``width`` columns, an endpoint longer than that whole."""
    paint = Paint(color)
    ask = plan.matrix
    assert ask is not None, "not a matrix"
    grid = ask.grid
    measured = [c for c in plan.cells if c.skip is None]
    layers = figures.plural(len(plan.stack.layers), "layer")
    out = [paint(x, "bold") for x in wrap(f"{clean(plan.stack.name)} · {grid.name} matrix · {layers}", width)]
    fixed = units.duration(len(measured) * 60 * units.NS_PER_S)
    budget = units.duration(ask.budget_s * units.NS_PER_S)
    out += wrap(f"{len(measured)} cells in {budget}; at a fixed 60 s per cell it would take {fixed}", width, "  ")
    out += prediction_lines(told, width)
    out += ["", *wrap(f"depths    {', '.join(map(str, grid.depths))}", width, "  ", "            ")]
    out += wrap(f"sizes     {', '.join(units.size(s) for s in grid.sizes)}", width, "  ", "            ")
    out += wrap(f"patterns  {', '.join(grid.patterns)}", width, "  ", "            ")
    first = plan.workloads[0]
    out += wrap(f"caching   {'unbuffered' if first.direct else 'buffered'}{_sync(plan)}", width, "  ", "            ")
    out.append("")
    for i, layer in enumerate(plan.stack.layers, 1):
        some = sum(c.layer == layer.name for c in measured)
        out += [
            f"{i:>3}  {paint(clean(layer.name), 'bold')} · {figures.plural(some, 'cell')}",
            f"     {clean(layer.endpoint)}",
        ]
    skipped: dict[str, int] = {}
    for c in plan.cells:
        if c.skip is not None:
            skipped[f"{c.layer}: {c.skip}"] = skipped.get(f"{c.layer}: {c.skip}", 0) + 1
    out += [""] + [
        x for why, n in skipped.items() for x in wrap(f"– {why} ({figures.plural(n, 'cell')})", width, "", "  ")
    ]
    writes = f"writes at most {units.size(plan.bytes_written)} ({units.count(plan.bytes_written)} bytes)"
    own = f", including its own file of {units.size(plan.file_size)}" if plan.file_size else ""
    out += wrap(f"{writes}{own}; writing stops there" if plan.bytes_written else "writes nothing", width)
    return "\n".join(out)


def _sync(plan: Plan) -> str:
    found = {w.sync.value for w in plan.workloads if w.rw.carries}
    return (
        "" if not found else ", writes not durable" if found == {"none"} else f", writes write-through ({found.pop()})"
    )
