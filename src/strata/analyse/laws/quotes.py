"""A quotation must be in the table it quotes.

What it claims
    Figures that a text names together are found together in one measured row.
Why it matters
    A wrong percentile, the best figure of one row beside the best of another, or KB for KiB: people remember the
    sentence, not the table.
Evidence
    A said row and the measured rows of the same table that have the same keys.
What rules it out
    Rounding of the quoted figures. Figures that no measured row has are not judged.
Source
    The table itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from strata import units
from strata.analyse.laws.base import Answers, flag, overlap, value
from strata.model.figures import Dimension, Figure, Flag, Role, Row, Table

NAME, TITLE, ORDER = "quotes", "quotations", 240
SAYS = "figures quoted together are in no single row"


def check(table: Table) -> Answers:
    rows = table.of(Role.MEASURED)
    known = {k for r in rows for k in r.figures}
    for said in table.of(Role.SAID):
        keys = [k for k in said.figures if k in known and said.figures[k].readings]
        found = [r for r in rows if set(keys) <= set(r.figures)]
        if not keys or not found:
            continue
        yield None
        if any(_agrees(said.figures, r, keys) for r in found):
            continue
        if (slip := _other_unit(said, found, keys)) is not None:
            yield slip
            continue
        yield _nowhere(table, said, found, keys)


def _agrees(said: Mapping[str, Figure], row: Row, keys: list[str]) -> bool:
    return all(overlap(said[k].bounds(), row.figures[k].bounds()) for k in keys)


def _other_unit(said: Row, rows: list[Row], keys: list[str]) -> Flag | None:
    for key in keys:
        figure = said.figures[key]
        for unit, scale in figure.readings[1:]:
            # Exactly as many bytes as the other unit would be: a step would let 512 KB pass for 524 288.
            for row in rows:
                others = [k for k in keys if k != key]
                if overlap(figure.bounds(scale), row.figures[key].bounds()) and _agrees(said.figures, row, others):
                    literal, meant = figure.readings[0], figure.value * scale
                    text = f"{figure.value:g} {literal[0]} are {units.count(figure.base)} bytes; what was measured has "
                    text += f"{units.count(meant)}, which is {figure.value:g} {unit}"
                    step = f"Write {figure.value:g} {unit}."
                    return flag(
                        said,
                        text,
                        step,
                        broken=True,
                        column=key,
                        numbers={"said": figure.base, "measured": row.figures[key].base},
                    )
    return None


def _nowhere(table: Table, said: Row, rows: list[Row], keys: list[str]) -> Flag:
    places = []
    for key in keys:
        at = [r.name for r in rows if overlap(said.figures[key].bounds(), r.figures[key].bounds())]
        places.append(
            f"{_told(said.figures[key])} is in {' and '.join(at[:2])}"
            if at
            else f"{_told(said.figures[key])} is in no row"
        )
    text = "; ".join(places)
    ios, p = value(table, said, "ios"), _percentile_of(said, rows)
    if ios is not None and p is not None:
        text += f"; so at most {ios * (1 - p / 100):.0f} I/Os are as slow"
        beyond = value(table, said, "beyond")
        text += f", not {beyond:.0f}" if beyond is not None else ""
    text = f"no row has these together: {text}"
    step = "Quote one complete row."
    return flag(said, text, step, broken=True, column=keys[0], numbers={k: said.figures[k].base for k in keys})


def _percentile_of(said: Row, rows: list[Row]) -> float | None:
    """The percentile at which the time that is said really stands."""
    time = said.figures.get("time")
    if time is None:
        return None
    for row in rows:
        if {"time", "percentile"} <= set(row.figures) and overlap(time.bounds(), row.figures["time"].bounds()):
            return row.figures["percentile"].base
    return None


def _told(figure: Figure) -> str:
    if figure.dimension is Dimension.TIME:
        return units.duration(figure.base)
    return f"{figure.value:g} {figure.unit}".strip()
