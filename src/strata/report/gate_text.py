"""A gate's verdict for the terminal and as Markdown."""

from __future__ import annotations

from strata import units
from strata.model.history import Gate, GateCell, GateOutcome
from strata.report import figures
from strata.report.compare_lines import cell_table, change, recorded
from strata.report.markdown import escape, gfm
from strata.report.text_layout import Paint, field, table, wrap

_STYLE = {GateOutcome.FINE: "green", GateOutcome.REGRESSION: "red", GateOutcome.TOO_NOISY: "yellow"}
_MARK = {GateOutcome.FINE: "🟢", GateOutcome.REGRESSION: "🔴", GateOutcome.TOO_NOISY: "⚪"}
_WORST = {GateOutcome.REGRESSION: 0, GateOutcome.TOO_NOISY: 1, GateOutcome.FINE: 2}
SHOWN = 40


def headline(gate: Gate) -> str:
    """``fine: none of 8 cells lost so much (limit 10 %, against main version 3)``."""
    asked = f"limit {figures.percent(gate.max_loss)}, against {gate.baseline} version {gate.version}"
    return f"{outcome(gate)}: {gate.why} ({asked})"


def outcome(gate: Gate) -> str:
    """``fine``, ``regression``, ``too noisy`` or ``inconclusive``."""
    told = gate.outcome is not GateOutcome.TOO_NOISY or any(
        c.outcome is gate.outcome and c.noise is not None for c in gate.cells
    )
    # Nothing is noisy where the only trouble is that nothing was measured, or that nobody knows the noise.
    return gate.outcome.value if told else "inconclusive"


def gate_text(gate: Gate, width: int, color: bool = False) -> str:
    """The verdict, the cells (the worst first) and what differs in the environment."""
    paint = Paint(color)
    out = [paint(x, _STYLE[gate.outcome], "bold") for x in wrap(headline(gate), width)]
    out += field("baseline", _runs(gate.baseline_runs), width, column=9)
    out += field("candidate", _runs(gate.candidate_runs), width, column=9)
    cells = _sorted(gate)
    head = ("layer", "workload", "baseline", "candidate", "IOPS", "noise", "detects", "")
    shown = [_row(c) for c in cells[:SHOWN]]
    styles = [_STYLE[c.outcome] if c.outcome is not GateOutcome.FINE else None for c in cells[:SHOWN]]
    out += ["", *cell_table(head, shown, styles, width, paint)]
    if len(cells) > SHOWN:
        out.append(f"  and {len(cells) - SHOWN} more; --json has all")
    if gate.missing:
        out += ["", *wrap(_missing(gate), width)]
    if gate.environment:
        out += ["", paint("the environments differ", "bold", "yellow")]
        fields = map(recorded, gate.environment)
        out += table(("field", "baseline", "candidate"), fields, width, elastic=frozenset({0, 1, 2}))
    return "\n".join(out)


def gate_markdown(gate: Gate) -> str:
    """For a pull request; a trailing newline is not added."""
    head = ["", "layer", "workload", "baseline", "candidate", "IOPS", "detects"]
    shown = []
    for c in _sorted(gate)[:SHOWN]:
        layer, workload, old, new, moved, _, finds, _ = _row(c)
        shown.append([_MARK[c.outcome], escape(layer), escape(workload), old, new, moved, finds])
    blocks = [f"### Strata: {_MARK[gate.outcome]} {escape(headline(gate))}", gfm(head, shown, 3)]
    if len(gate.cells) > SHOWN:
        blocks.append(f"and {len(gate.cells) - SHOWN} more cells")
    if gate.missing:
        blocks.append(f"⚪ {escape(_missing(gate))}")
    if gate.environment:
        fields = [[escape(x) for x in row] for row in map(recorded, gate.environment)]
        blocks.append("**The environments differ:**\n\n" + gfm(["field", "baseline", "candidate"], fields, 3))
    blocks.append(
        f"<sub>{escape(f'baseline {_runs(gate.baseline_runs)}; candidate {_runs(gate.candidate_runs)}')}</sub>"
    )
    return "\n\n".join(blocks)


def rows(gate: Gate) -> list[list[str]]:
    """The cells as a table has them, the worst first."""
    return [_row(c) for c in _sorted(gate)]


def _missing(gate: Gate) -> str:
    more = f" and {len(gate.missing) - SHOWN} more" if len(gate.missing) > SHOWN else ""
    return f"not measured by the candidate: {', '.join(gate.missing[:SHOWN])}{more}"


def _sorted(gate: Gate) -> list[GateCell]:
    return sorted(gate.cells, key=lambda c: (_WORST[c.outcome], c.ratio.value))


def _row(c: GateCell) -> list[str]:
    finds = "–" if c.detectable is None else f"−{figures.percent(c.detectable)}"
    word = "noise unknown" if c.noise is None and c.outcome is GateOutcome.TOO_NOISY else c.outcome.value
    return [
        c.layer, c.workload_key, units.count(c.baseline_iops), units.count(c.candidate_iops), change(c.ratio),
        "–" if c.noise is None else figures.percent(c.noise), finds, word,
    ]  # fmt: skip


def _runs(runs: tuple[str, ...]) -> str:
    return runs[0] if len(runs) == 1 else f"{len(runs)} runs, {runs[0]} … {runs[-1]}"
