"""The parts of a comparison in words, shared by the terminal, Markdown and the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from strata import units
from strata.model.compared import CellCompared, Change, ComparedRuns, EnvironmentField, Fairness, Shift
from strata.model.estimate import Estimate
from strata.report import figures
from strata.report.text_layout import Paint, table

WIDE, NARROW = 120, (0, 1, 4, 6, 7)
"""From this width on a table of cells has all its columns, below it these."""
_ORDER = (Change.SLOWER, Change.FASTER, Change.CANNOT_TELL, Change.EQUIVALENT)

MARK = {Change.SLOWER: "▼", Change.FASTER: "▲", Change.CANNOT_TELL: "?", Change.EQUIVALENT: "="}
"""Never by colour alone."""


def headline(compared: ComparedRuns) -> str:
    """``12 cells: 2 slower, 10 equivalent within 5 %``."""
    counts = compared.counts
    words = []
    for change in (Change.SLOWER, Change.FASTER, Change.EQUIVALENT, Change.CANNOT_TELL):
        if counts[change]:
            within = f" within {figures.percent(compared.margin)}" if change is Change.EQUIVALENT else ""
            words.append(f"{counts[change]} {change.value}{within}")
    return f"{figures.plural(len(compared.cells), 'cell')}: {', '.join(words)}"


def by_change(cells: Iterable[CellCompared]) -> list[CellCompared]:
    """What changed most comes first."""
    return sorted(cells, key=lambda c: (_ORDER.index(c.verdict), -abs(c.iops.value - 1)))


def changed(cells: Iterable[CellCompared]) -> list[CellCompared]:
    """Those whose change is shown."""
    return [c for c in cells if c.verdict in (Change.SLOWER, Change.FASTER)]


def cell_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str | None], width: int, paint: Paint
) -> list[str]:
    """Layer, workload, five columns of figures and a verdict: the least of it below `WIDE`. ``styles``: of each row."""
    kept = range(len(head)) if width >= WIDE else NARROW
    made = table(
        [head[i] for i in kept], [[row[i] for i in kept] for row in rows], width,
        numeric=frozenset(n for n, i in enumerate(kept) if 2 <= i <= 6), elastic=frozenset({0, 1}),
    )  # fmt: skip
    return [paint(made[0], "bold"), *(paint(x, s) if s else x for x, s in zip(made[1:], styles, strict=True))]


def change(estimate: Estimate) -> str:
    """``−12 % (−15…−9 %)``: a ratio as the change it is."""
    text = figures.signed_percent(estimate.value - 1)
    if estimate.low is None or estimate.high is None:
        return text
    low, high = (figures.signed_percent(x - 1) for x in (estimate.low, estimate.high))
    return f"{text} ({low.removesuffix(' %')}…{high})"


def short_change(estimate: Estimate | None) -> str:
    """``−12 %``; a dash where there is none."""
    return "–" if estimate is None else figures.signed_percent(estimate.value - 1)


def shift_of(cell: CellCompared, percentile: str) -> Shift | None:
    """The shift of that percentile, None where the samples do not carry it."""
    return next((s for s in cell.shifts if s.percentile == percentile), None)


def verdict(cell: CellCompared, margin: float) -> str:
    """``slower, by more than 5 %``."""
    more = f", by more than {figures.percent(margin)}" if cell.beyond_margin else ""
    return f"{cell.verdict.value}{more}"


def where_moved(cell: CellCompared) -> list[str]:
    """One line for each percentile, and where the distributions are furthest apart."""
    lines = []
    for s in cell.shifts:
        name = "mean" if s.percentile == "mean" else f"p{s.percentile}"
        moved = figures.signed_duration(s.moved_ns.value)
        lines.append(f"{name} {units.duration(s.a_ns)} → {units.duration(s.b_ns)}: {moved}, {change(s.ratio)}")
    if cell.gap is not None and cell.gap.a != cell.gap.b:
        g = cell.gap
        within = f"within {units.duration(g.at_ns)} {figures.percent(g.a)} of A's I/Os had completed, of B's"
        lines.append(f"largest difference between the distributions: {within} {figures.percent(g.b)}")
    return lines


def remarks(compared: ComparedRuns) -> list[str]:
    """What limits the claim."""
    noise = "unknown (one round each)" if compared.noise is None else figures.percent(compared.noise)
    said = [
        f"noise between rounds {noise}; the verdicts hold together for the whole table at "
        f"{figures.percent(compared.level)} ({compared.adjustment})"
    ]
    if compared.between_runs is None:
        said.append(
            "one run on each side does not show how much identical runs vary: a change found here is a change "
            "between these two runs (--between-runs 3% adds an allowance; strata gate learns it from a baseline of "
            "several runs)"
        )
    else:
        source = "as given" if compared.learnt_from is None else f"learned from {compared.learnt_from} runs"
        most = max(c.between_runs or 0.0 for c in compared.cells)
        up_to = f", single cells by up to {figures.percent(most)}" if most > compared.between_runs else ""
        said.append(f"in addition, identical runs vary by {figures.percent(compared.between_runs)}{up_to} ({source})")
    for side, names in (("A", compared.only_a), ("B", compared.only_b)):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            said.append(f"only in {side}: {', '.join(names[:3])}{more}")
    return said


def recorded(f: EnvironmentField) -> tuple[str, str, str]:
    """(field, A, B)."""
    return f.name, f.a or "not recorded", f.b or "not recorded"


def effect(fairness: Fairness) -> str:
    """What a difference of the environment does to the comparison, in the word of the glossary."""
    return "caveat" if fairness is Fairness.CAVEAT else fairness.value


def differing(compared: ComparedRuns) -> list[tuple[str, str, str, str]]:
    """(field, A, B, what it does) for the environment's fields that are not the same, and caching of single cells."""
    rows = [(*recorded(f), effect(f.fairness)) for f in compared.differing]
    cells = [c for c in compared.cells if c.caching is not None]
    for one in dict.fromkeys(c.caching for c in cells if c.caching is not None):
        count = sum(c.caching == one for c in cells)
        name = f"effective caching, {figures.plural(count, 'cell')}"
        rows.append((name, one[0] or "not recorded", one[1] or "not recorded", effect(Fairness.CAVEAT)))
    return rows
