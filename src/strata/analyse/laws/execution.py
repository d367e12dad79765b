"""The run is the one that was planned.

What it claims
    A measured row has the size, threads, depth and caching that were planned for it, and every measured setting is
    one of the plan's.
Why it matters
    A test planned with caching off and run with it on measures memory. A depth that is not in the plan cannot be
    looked up in its table.
Evidence
    Rows of a plan and measured rows: paired by the label `test`, or the planned values of each setting against the
    measured ones. For Strata's own runs: what the engine read back from the open file.
What rules it out
    Settings that either side does not state. Units that agree under one of their meanings.
Source
    Strata's own rule: the plan.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, overlap
from strata.model.figures import Dimension, Figure, Role, Row, Table
from strata.model.groups import grouped

NAME, TITLE, ORDER = "execution", "planned and executed", 120
SAYS = "the run differs from its plan"
ONLY_CAVEAT = True
SETTINGS = ("size", "threads", "depth", "outstanding", "seconds")
LABELS = ("caching", "sync", "pattern")
NEXT = "Run it as planned, or record what was run."


def check(table: Table) -> Answers:
    """Rows that were run otherwise than planned, then settings that no plan has."""
    planned, measured = table.of(Role.PLANNED), table.of(Role.MEASURED)
    paired = {r.words["test"] for r in planned if "test" in r.words}
    run = grouped((row.words.get("test", ""), row) for row in measured)
    for plan in planned:
        for row in run.get(plan.words["test"], []) if "test" in plan.words else []:
            yield from _against(plan, row)
    if paired & set(run):
        if paired - set(run):
            yield None
        for plan in planned:
            if "test" in plan.words and plan.words["test"] not in run:
                yield flag(plan, "it was planned and never measured", "Measure it, or say why it was left out.")
    grid = [r for r in planned if "test" not in r.words]
    loose = [r for r in measured if r.words.get("test") not in paired]
    if grid and loose:
        yield from _coverage(grid, loose)


def _against(plan: Row, row: Row) -> Answers:
    for key in SETTINGS:
        asked, done = plan.figures.get(key), row.figures.get(key)
        if asked is None or done is None:
            continue
        yield None
        if not _same(asked, done):
            text = f"{key} {_told(asked)} was planned, {_told(done)} was run"
            yield flag(row, text, broken=True, column=key, numbers={"asked": asked.base, "run": done.base})
    for key in LABELS:
        asked_word, done_word = plan.words.get(key), row.words.get(key)
        if not asked_word or not done_word:
            continue
        yield None
        if asked_word != done_word:
            text = f"{key} {asked_word} was planned, {done_word} was run"
            text += ": a cache answers" if key == "caching" and done_word == "on" else ""
            yield flag(row, text, broken=True, column=key)


def _coverage(grid: list[Row], rows: list[Row]) -> Answers:
    for key in SETTINGS:
        asked = [r.figures[key] for r in grid if key in r.figures]
        if asked and any(key in r.figures for r in rows):
            yield None
        missing: dict[float, int] = {}
        for row in rows:
            done = row.figures.get(key)
            if asked and done is not None and not any(_same(a, done) for a in asked):
                missing[done.base] = missing.get(done.base, 0) + 1
        for found, times in missing.items():
            values = ", ".join(_told(f) for f in {a.base: a for a in asked}.values())
            text = f"{key} {found:g} of {times} measured rows is not in the plan, which has {values}"
            step = "Add it to the plan, or measure what is planned."
            yield flag(None, text, step, column=key, numbers={key: found, "rows": float(times)})


def _same(a: Figure, b: Figure) -> bool:
    """Under some meaning of both units; settings have no rounding."""
    if not a.readings or not b.readings:
        return True
    return any(
        overlap((a.value * s, a.value * s), (b.value * t, b.value * t)) for _, s in a.readings for _, t in b.readings
    )


def _told(figure: Figure) -> str:
    return units.size(figure.base) if figure.dimension is Dimension.BYTES else f"{figure.value:g} {figure.unit}".strip()
