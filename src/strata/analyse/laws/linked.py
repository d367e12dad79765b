"""No more than the link carries.

What it claims
    One direction of a connection carries at most its capacity.
Why it matters
    A rate above the stated link came from a cache at this end, from several links, or the link is not the stated one.
Evidence
    `rate` and `link` of a row or of the table, and how many of them there are (`count.links`); both directions apart
    where they are printed apart.
What rules it out
    Rounding and the noise of the table; a row that is called cached; a mixed row of which only the sum is known, up to
    twice the link.
Source
    The capacity of a channel.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, bounds, flag, given, noise, rate_readings, value
from strata.model.figures import Table

NAME, TITLE, ORDER = "linked", "rate and link", 275
SAYS = "a rate above the stated capacity of the link"
NEXT = "Check for a cache at this end, for more than one link, and the link's real speed."


def check(table: Table) -> Answers:
    for row in given(table):
        link = bounds(table, row, "link")
        if link is None or table.word(row, "caching") == "on":
            continue
        mixed = "rw" in (table.word(row, "pattern") or "") or "/" in (table.word(row, "pattern") or "")
        for key in ("rate", "rate.read", "rate.write"):
            figure = row.figures.get(key)
            if figure is None or not figure.readings:
                continue
            yield None
            least = min(span[0] for span in rate_readings(figure))
            many = (value(table, row, "count.links") or 1) * (2 if mixed and key == "rate" else 1)
            most = link[1] * many * (1 + noise(table))
            if least > most:
                most_said = units.rate(link[1] * many)
                text = f"{units.rate(least)} are more than the link carries in one direction ({most_said})"
                yield flag(row, text, broken=True, column=key, numbers={"rate": least, "link": link[1] * many})
