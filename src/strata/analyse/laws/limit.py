"""Named as the limit.

What it claims
    A resource that a text names as the limit is saturated in the figures: at least 90 % in use where the rate stops
    growing.
Why it matters
    A flat curve does not name a resource. What is bought next depends on which resource it was.
Evidence
    A said row with the label `limit` (`server`, `client`, `wire`, `device`, or the name after `busy.` of a column), its
    pattern and size; the rows of that series by threads, with the shares that are printed in the last one. A `link`
    (and `count.links`) gives the wire's share from the bytes of the data.
What rules it out
    The resource is saturated there. It is a contradiction only where the share is printed and below 70 %; between, or
    where it is not printed, the figures do not show what is said.
Source
    The utilisation law (Denning and Buzen, ACM Computing Surveys 10, 1978).
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, value
from strata.analyse.scaling.table import LoadResponse, LoadSeries, courses
from strata.model.figures import Role, Row, Table

NAME, TITLE, ORDER = "limit", "named as the limit", 305
SAYS = "a resource is named as the limit, but the figures do not show it saturated"
FAR = 0.7


def check(table: Table) -> Answers:
    said = [r for r in table.of(Role.SAID) if "limit" in r.words]
    every = tuple(courses(table)) if said else ()
    for row in said:
        resource = row.words["limit"]
        of = [c for c in every if _of(table, row, c)]
        if not of:
            continue
        yield None
        if any(resource in c.full and c.shape is not LoadResponse.GROWS for c in of):
            continue
        course = max(of, key=lambda c: c.points[-1].used.get(resource, 0.0))
        share = course.points[-1].used.get(resource)
        text = f"{resource} is named as the limit of {course.name}; "
        if resource in course.full:
            text += f"its utilisation is {units.percent(course.points[-1].used[resource])}, and the rate still grows"
        elif share is None:
            text += "its utilisation is not printed"
        else:
            text += f"its utilisation is {units.percent(share)} in {course.points[-1].row.name}"
        if not course.full:
            text += ": a rate that stops growing names no resource" if course.shape is not LoadResponse.GROWS else ""
        step = f"Print the utilisation of {resource} in the last row, or take some of it away: at the limit, the rate "
        step += "falls with it."
        yield flag(
            row,
            text,
            step,
            broken=share is not None and share < FAR,
            column="limit",
            numbers={} if share is None else {"used": share},
        )


def _of(table: Table, said: Row, course: LoadSeries) -> bool:
    """Whether the said row is of this series: the same pattern and size, where it names them."""
    row = course.points[-1].row
    pattern, size = said.words.get("pattern"), value(table, said, "size")
    return (not pattern or pattern == table.word(row, "pattern")) and (not size or size == value(table, row, "size"))
