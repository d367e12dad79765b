"""What is added brings no more than its part.

What it claims
    With k times the nodes (also storage-only ones), disks or controllers no rate becomes more than k times as high, and
    no time shorter than its kth part.
Why it matters
    A larger gain is not the new nodes' alone: a cache that now holds more of the data, a rebuild that ended, a fresh
    file system or another setting came with them, and the next nodes will not bring it again.
Evidence
    `count.before` and `count.after` of the whole table, and rows with `before` and `after` or a `ratio`, with the label
    `of` (`time` or `rate`).
What rules it out
    Rounding, and the noise of two measurements. A time under load falls by more than its kth part where a queue was
    full before; it is told of rates, and of times only where they are said to be durations of a task (`test` = task).
Source
    The asymptotic bounds of a closed system (Denning and Buzen, ACM Computing Surveys 10, 1978): k times the servers
    serve at most k times as much.
"""

from __future__ import annotations

from strata import units
from strata.analyse.elasticity import answers
from strata.analyse.laws.base import Answers, flag
from strata.model.figures import Table

NAME, TITLE, ORDER = "proportion", "more than in proportion", 236
SAYS = "a figure gained more than was added"
NEXT = "Find what else changed: memory for caches, a rebuild, the age of the file system, a setting."
TASK = "task"


def check(table: Table) -> Answers:
    for one in answers(table):
        if table.word(one.row, "of") != "rate" and table.word(one.row, "test") != TASK:
            continue
        yield None
        # The part that scales cannot be more than all of the time.
        if one.span[0] <= 1:
            continue
        text = f"{one.row.name} became {units.significant(one.times)} times as fast with {one.factor:g} times the "
        text += table.words.get("scaled", "of what was added")
        yield flag(one.row, text, column="after", numbers={"times": one.times, "factor": one.factor})
