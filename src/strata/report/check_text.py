"""What the consistency laws found, for the terminal."""

from __future__ import annotations

from strata.model.figures import Checked, Conclusion, Flag, Standing
from strata.model.finding import Verdict
from strata.report import figures
from strata.report.text_layout import Paint, wrap


def check_text(checked: Checked, width: int, color: bool = False) -> str:
    """Contradictions first, each with its row, the numbers and the next step; then how many rows were asked."""
    paint = Paint(color)
    lines = [line for flag in checked.flags for line in _flag(flag, width, paint)]
    laws = f"{len(checked.asked)} of {figures.plural(len(checked.laws), 'law')} could be asked"
    asked = f"{figures.plural(checked.rows, 'row')}, {laws}"
    mild = len(checked.flags) - checked.broken
    if not checked.asked:
        said = "inconclusive, no law has the figures it needs"
    elif not checked.flags:
        said = "no contradiction among the figures that were recognised" if checked.unread else _hold(checked)
    else:
        parts = [figures.plural(checked.broken, "contradiction")] if checked.broken else []
        parts += [f"{figures.plural(mild, 'caveat')}"] if mild else []
        said = ", ".join(parts)
    lines += wrap(f"{checked.source}: {asked}: {said}", width)
    if checked.asked:
        lines += wrap(f"laws: {', '.join(checked.asked)}", width, "  ", "    ")
    if checked.figures:
        lines += wrap(f"figures: {', '.join(checked.figures)}", width, "  ", "    ")
    if checked.unread:
        named = ", ".join(repr(u) for u in checked.unread)
        lines += wrap(f"columns not recognised: {named}; no law was applied to them", width, "  ", "    ")
        step = f"name their kind: --column '{checked.unread[0]}=time.mean [ms]' (docs/guide/laws.md lists the kinds)"
        lines += wrap(step, width, "    ", "    ")
    if checked.labels:
        lines += wrap(f"labels, not used in calculations: {', '.join(checked.labels)}", width, "  ", "    ")
    for text in checked.left_out:
        lines += wrap(text, width, "  ", "    ")
    if checked.diagnosis is not None:
        lines += ["", *_verdict(checked, checked.diagnosis.verdict, width, paint)]
    for conclusion in checked.conclusions:
        lines += ["", *_conclusion(conclusion, width, paint)]
    return "\n".join(lines)


def _hold(checked: Checked) -> str:
    return "it holds" if len(checked.asked) == 1 else "all of these hold"


_STANDS = {Standing.SHOWN: "Shown", Standing.SUGGESTED: "Suggested", Standing.OPEN: "Inconclusive"}


def _conclusion(found: Conclusion, width: int, paint: Paint) -> list[str]:
    """What the rows show together, how far, and what would tell more."""
    lines = paint.lines(wrap(f"{_STANDS[found.standing]}: {found.says}", width, "", "  "), "bold")
    lines += wrap(found.because, width, "  ", "  ")
    if found.missing:
        lines += wrap(f"Not in these figures: {'; '.join(found.missing)}", width, "  ", "    ")
    return [*lines, *wrap(f"Next: {found.next_step}", width, "  ", "    ")]


def _verdict(checked: Checked, verdict: Verdict, width: int, paint: Paint) -> list[str]:
    """What the rules of a diagnosis say of the layers in the table."""
    lines = paint.lines(wrap(f"These layers: {verdict.headline}", width, "", "  "), "bold")
    lines += wrap(verdict.explanation, width, "  ", "  ")
    if checked.experiment is not None:
        changed = f"{checked.experiment.workload.label} at {checked.experiment.layer}"
        lines += wrap(f"To decide: {checked.experiment.changes} ({changed})", width, "  ", "    ")
    return [*lines, *wrap(f"Next: {verdict.next_step}", width, "  ", "    ")]


def _flag(flag: Flag, width: int, paint: Paint) -> list[str]:
    where = flag.row or (f"column {flag.column}" if flag.column else "the table")
    sign, style = ("✗", "red") if flag.broken else ("!", "yellow")
    head = wrap(f"{sign} {flag.title} · {where}", width, "", "  ")
    body = wrap(flag.reason, width, "    ")
    step = wrap(f"Next: {flag.next_step}", width, "    ", "      ") if flag.next_step else []
    return [*(paint(x, "bold", style) for x in head), *body, *step, ""]
