"""Twice the resources, twice the speed.

What it claims
    A speed-up claimed for more nodes (disks, links) holds in every measured row that the sentence is about.
Why it matters
    A claim that is true for one figure is soon repeated for all of them. A duration that fell by a tenth became 1.1
    times as fast; twice as fast is half of the time.
Evidence
    A said row with a `ratio` (how many times as fast), `count.before` and `count.after` of the table, and rows with
    `before` and `after` or a `ratio` and the label `of` (`time` or `rate`). A said row with `of` is about these alone.
What rules it out
    Rounding, and the noise of two measurements. Where some rows did follow, it is no contradiction, but does not hold
    for the others.
Source
    Amdahl, Validity of the single processor approach, AFIPS 1967: T′ ÷ T = 1 − p + p ÷ k.
"""

from __future__ import annotations

import math

from strata import units
from strata.analyse.elasticity import Answer, answers
from strata.analyse.laws.base import Answers, flag
from strata.model.figures import Flag, Role, Rounding, Row, Table

NAME, TITLE, ORDER = "multiplied", "more resources, as much faster", 235
SAYS = "a speed-up claimed for more nodes does not hold for some figures"
NEXT = "State for which figures it holds, and give the others beside them."


def check(table: Table) -> Answers:
    found = tuple(answers(table))
    for said in table.of(Role.SAID):
        claimed = said.figures.get("ratio")
        about = [a for a in found if said.words.get("of", table.word(a.row, "of")) == table.word(a.row, "of")]
        if claimed is None or not about:
            continue
        yield None
        # A factor that is said is meant: nothing was cut from it but where it is called about that.
        least = claimed.bounds()[0] if claimed.rounding is Rounding.ABOUT else claimed.base
        short = [a for a in about if _at_most(a) < least]
        if short:
            yield _short(said, claimed.base, short, len(about))


def _at_most(answer: Answer) -> float:
    """How many times as fast it may have become, by rounding and noise."""
    ratio = 1 - answer.span[1] * (1 - 1 / answer.factor)
    return 1 / ratio if ratio > 0 else math.inf


def _short(said: Row, claimed: float, short: list[Answer], rows: int) -> Flag:
    worst = min(short, key=lambda a: a.times)
    each = ", ".join(f"{a.row.name} {units.significant(a.times)} times" for a in short)
    text = f"{claimed:g} times as fast is stated; {each} as fast"
    text += f" ({rows - len(short)} of {rows} figures are)" if len(short) < rows else ""
    return flag(said, text, broken=len(short) == rows, column="ratio", numbers={"said": claimed, "least": worst.times})
