"""Called constant.

What it claims
    A figure that is called constant stays within 25 % over the rows it is said of.
Why it matters
    "Near-constant latency" beside a column that grows twelvefold hides the very limit that the load reaches.
Evidence
    A said row with the label `constant` naming the column, and the measured rows of each size.
What rules it out
    Every series of the table stays within 25 %.
Source
    Strata's own rule: the table.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, measured
from strata.model.figures import Dimension, Figure, Role, Table

NAME, TITLE, ORDER = "constant", "called constant", 250
SAYS = "a figure called constant is not constant"
NEXT = "State the range over which it is constant, or give both ends."
WITHIN = 1.25


def check(table: Table) -> Answers:
    """Said rows whose column is not constant in some series."""
    for said in table.of(Role.SAID):
        key = said.words.get("constant")
        if key is None:
            continue
        series: dict[tuple[object, ...], list[Figure]] = {}
        for row in measured(table, key):
            of = (row.like(), row.figures["size"].base if "size" in row.figures else None)
            series.setdefault(of, []).append(row.figures[key])
        grown = []
        several = [some for some in series.values() if len(some) > 1]
        for some in several:
            least, most = min(some, key=lambda f: f.base), max(some, key=lambda f: f.base)
            if least.base > 0 and least.bounds()[1] > 0 and most.bounds()[0] / least.bounds()[1] > WITHIN:
                grown.append((most.base / least.base, least, most))
        if several:
            yield None
        if not grown:
            continue
        times, least, most = max(grown, key=lambda g: g[0])
        text = f"{key} is called constant and grows {units.significant(times, 2)} times, from {_told(least)} to "
        text += f"{_told(most)}; it grows in {len(grown)} of {len(several)} series"
        yield flag(said, text, broken=True, column=key, numbers={"times": times, "series": float(len(grown))})


def _told(figure: Figure) -> str:
    return units.duration(figure.base) if figure.dimension is Dimension.TIME else f"{figure.value:g} {figure.unit}"
