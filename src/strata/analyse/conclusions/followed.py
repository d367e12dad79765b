"""Which figures improved when something was added, and which did not.

What it asks
    Figures before and after nodes (disks, links, …) were multiplied: how much of each depended on their number.
Evidence
    `count.before` and `count.after` of the whole table (and what they count: `scaled`); rows with `before` and
    `after`, or their `ratio`, and the label `of` (`time` or `rate`). The part is p = (1 − T′/T) ÷ (1 − 1/k).
What it cannot tell
    What the rest of the time is spent on: two figures do not contain that. Whether anything else was changed at the
    same time.
Source
    Amdahl, Validity of the single processor approach, AFIPS 1967.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strata import units
from strata.analyse.elasticity import Answer, answers
from strata.model.cause import Cause
from strata.model.figures import Conclusion, Standing, Table

NAME, ORDER = "followed", 30
READS = frozenset({"before", "after", "ratio", "count"})


def conclude(table: Table) -> Iterator[Conclusion]:
    """What followed in full, then what did not."""
    found = tuple(answers(table))
    added = table.words.get("scaled", "of them")
    followed = [a for a in found if a.followed]
    not_so = [a for a in found if a.followed is False]
    unsure = [a for a in found if a.followed is None]
    if followed:
        twice = _times(followed[0].factor)
        yield Conclusion(
            asked=NAME,
            standing=Standing.SHOWN,
            cause=Cause.FEW_NODES,
            says=f"{_names(followed)} became {twice} as fast with {twice} the {added}",
            because=f"{_each(followed)}: there were too few {added} before.",
            next_step=f"Add {added} where these figures matter, and measure again: two figures do not show whether "
            "the next ones gain as much.",
            rows=tuple(a.row.name for a in followed),
            numbers={f"part.{a.row.name}": a.part for a in followed},
        )
    if not_so:
        k = not_so[0].factor
        yield Conclusion(
            asked=NAME,
            standing=Standing.SHOWN,
            says=f"{_names(not_so)} did not become {_times(k)} as fast",
            because=f"{_each(not_so)}. If it depended on the {added} alone, the time would have fallen to 1/{k:g}: "
            "most of it depends on something that was not added.",
            next_step="Find what one of them waits for (one stream, one client, one disk it reads from); more "
            f"{added} gain at most {_most(not_so)}.",
            rows=tuple(a.row.name for a in not_so),
            missing=("what was saturated before and after", "how many requests each kept outstanding"),
            numbers={f"part.{a.row.name}": a.part for a in not_so},
        )
    if unsure:
        yield Conclusion(
            asked=NAME,
            standing=Standing.OPEN,
            says=f"whether {_names(unsure)} improved in full",
            because=f"{_each(unsure)}; rounding and noise leave it open.",
            next_step="Print before and after, of several repetitions.",
            rows=tuple(a.row.name for a in unsure),
            numbers={f"part.{a.row.name}": a.part for a in unsure},
        )


def _times(k: float) -> str:
    return "twice" if k == 2 else f"{k:g} times"


def _names(some: Sequence[Answer]) -> str:
    *most, last = (a.row.name for a in some)
    return f"{', '.join(most)} and {last}" if most else last


def _each(some: Sequence[Answer]) -> str:
    return "; ".join(f"{a.row.name} {units.significant(a.times)} times as fast ({_part(a)})" for a in some)


def _part(answer: Answer) -> str:
    low, high = (min(max(x, 0.0), 1.0) for x in answer.span)
    if low <= 0:
        return f"at most {units.percent(high, 2)} of the time depended on them: it may be noise"
    return f"{units.percent(low, 2)} to {units.percent(high, 2)} of the time depended on them"


def _most(some: Sequence[Answer]) -> str:
    """What endlessly many would still gain: the part that depended on them, of what it takes now."""
    best = max(min(max(a.part, 0.0), 0.99) for a in some)
    now = 1 - best + best / some[0].factor
    return f"{units.significant(now / (1 - best), 2)} times"
