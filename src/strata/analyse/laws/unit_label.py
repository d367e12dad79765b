"""A unit label that is wrong.

What it claims
    A column labelled with a decimal unit (MB = 10^6 bytes) holds decimal figures.
Why it matters
    MB and MiB differ by 4.9 %, GB and GiB by 7.4 %: more than most differences that a comparison looks for.
Evidence
    Rows whose IOPS × size gives the printed rate as MiB, and by no rounding as MB.
What rules it out
    Rows that agree with both units: the step of the column is too coarse to decide.
Source
    IEC 80000-13 and IEC 60027-2 (prefixes for binary multiples).
"""

from __future__ import annotations

from strata.analyse.laws import inference
from strata.analyse.laws.base import Answers, flag
from strata.model.figures import Table

NAME, TITLE, ORDER = "unit-label", "unit label", 30
SAYS = "a column labelled MB holds MiB"


def check(table: Table) -> Answers:
    for column in inference.columns(table):
        literal = column.rows[0].figures["rate"].readings[0][0]
        if not column.unit:
            continue
        yield None
        if column.best.unit == literal:
            continue
        by_letter = inference.decimal(table, column)
        proof = [
            r
            for r in column.rows
            if inference.holds(table, r, column.best, inference.STRICT) and not inference.any_of(table, r, by_letter)
        ]
        if not proof:
            continue
        first = proof[0].figures
        text = (
            f"the column is labelled {column.unit} but holds {column.best.words}: {len(proof)} of {len(column.rows)} "
        )
        text += f"rows match in no other way, for example {first['rate'].value:g} beside {first['iops'].value:g} IOPS "
        text += f"({proof[0].name})"
        step = f"Read and label it as {column.best.unit}."
        yield flag(None, text, step, column="rate", numbers={"scale": column.best.scale})
