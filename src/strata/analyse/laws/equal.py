"""Called equal.

What it claims
    A layer that is called equal to the one below it has the same figures.
Why it matters
    The word is what is read, and the table below it is not.
Evidence
    The label `claim` (equal, same, identical) of a row with `below`, and the IOPS of both rows with one workload.
What rules it out
    A difference up to twice the noise of the table.
Source
    Schuirmann 1987: what is not shown to be equal within a margin is not equal.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, measured, noise, value
from strata.model.figures import Row, Table

NAME, TITLE, ORDER = "equal", "called equal", 252
SAYS = "layers are called equal beside figures that are not"
NEXT = "State the difference, or the margin within which they are equal."
WORDS = ("equal", "same", "identical", "no difference")
SETTINGS = ("size", "depth", "threads")


def check(table: Table) -> Answers:
    rows = list(measured(table, "iops"))
    there = {_key(table, r, r.words.get("layer")): r for r in rows}
    for row in rows:
        lower = there.get(_key(table, row, row.words.get("below")))
        if lower is None or not row.words.get("claim", "").lower().startswith(WORDS):
            continue
        yield None
        below = lower.figures["iops"].base
        ratio = row.figures["iops"].base / below if below else 0.0
        if abs(ratio - 1) > 2 * noise(table):
            text = f"it is called {row.words['claim']}, and gives {units.percent(ratio, 2)} of the IOPS of {lower.name}"
            yield flag(row, text, broken=True, column="iops", numbers={"ratio": ratio})


def _key(table: Table, row: Row, layer: str | None) -> tuple[object, ...]:
    return (layer, table.word(row, "pattern"), *(value(table, row, k) for k in SETTINGS))
