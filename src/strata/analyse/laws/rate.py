"""IOPS × size = rate.

What it claims
    Bytes per second are I/Os per second times the bytes of one I/O, in every row; the counted I/Os and bytes agree in
    the same way.
Why it matters
    A missing decimal, an extra digit or a shifted column is found here, before anything is concluded from it.
Evidence
    IOPS, size and rate of a row. The unit (MB or MiB) and the rounding (rounded or truncated) are first inferred from
    all rows of the column; only a row that disagrees with the unit and rounding of the others is flagged.
What rules it out
    Mixed sizes in one row; where a run of Strata drew the sizes at random, five standard errors of their mean are
    allowed. Half a per cent is allowed, for two clocks.
Source
    The definition of the three figures.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws import inference
from strata.analyse.laws.base import Answers, bounds, flag, measured, overlap, times, value
from strata.model.figures import Flag, Role, Row, Table

NAME, TITLE, ORDER = "rate", "IOPS × size", 20
SAYS = "IOPS × size does not match the rate beside it"
NEXT = "Check the units and the columns of these figures."


def check(table: Table) -> Answers:
    for column in inference.columns(table):
        yield None
        if len(column.rows) > 2 and column.agree * 2 < len(column.rows):
            wrong = [r for r in column.rows if not inference.holds(table, r, column.best, inference.LOOSE)]
            if len(wrong) * 2 > len(column.rows):
                text = f"no unit and rounding makes IOPS × size match the rate in more than {column.agree} of "
                text += f"{len(column.rows)} rows"
                yield flag(None, text, broken=True, column="rate")
                continue
        for row in column.rows:
            if not inference.holds(table, row, column.best, inference.LOOSE):
                yield _slip(table, row, column)
    yield from _counted(table)


def _slip(table: Table, row: Row, column: inference.RateColumn) -> Flag:
    iops, size, rate = row.figures["iops"], value(table, row, "size") or 0, row.figures["rate"]
    bytes_ = sum(inference.product(table, row, column.best)) / 2
    said = rate.value * column.best.scale
    if round_ := row.words.get("round"):
        printed, whose = units.rate(said), round_
    else:
        printed, whose = f"{rate.value:g} {rate.unit}", "the row" if row.role is not Role.SAID else "the text"
    text = f"{units.count(iops.value)} IOPS of {units.size(size)} are {_rate(bytes_, column.best)}, "
    text += f"but {whose} says {printed}"
    if len(column.rows) > 2 and rate.step:
        text += f" ({column.agree} of {len(column.rows)} rows match as {column.best.words})"
    if fits := _digit_less(table, row, column):
        text += f"; {units.count(fits)} would match, one digit less"
    return flag(row, text, broken=True, column="rate", numbers={"iops": iops.value, "size": size, "rate": said})


def _rate(bytes_per_second: float, reading: inference.UnitReading) -> str:
    plain = units.rate(bytes_per_second)
    return (
        plain
        if reading.scale in (1, 1.0)
        else f"{units.significant(bytes_per_second / reading.scale, 4)} " + (reading.unit)
    )


def _digit_less(table: Table, row: Row, column: inference.RateColumn) -> int | None:
    """The IOPS with one digit struck out that would fit: the last such, as a digit is mostly doubled at the end."""
    iops = row.figures["iops"]
    digits = f"{iops.value:.0f}"
    if iops.value != int(iops.value) or len(digits) < 3:
        return None
    for i in reversed(range(len(digits))):
        fewer = iops.model_copy(update={"value": float(digits[:i] + digits[i + 1 :])})
        changed = row.model_copy(update={"figures": {**row.figures, "iops": fewer}})
        if inference.holds(table, changed, column.best, inference.LOOSE):
            return int(fewer.value)
    return None


def _counted(table: Table) -> Answers:
    for row in measured(table, "ios", "bytes"):
        size = value(table, row, "size")
        ios, total = bounds(table, row, "ios"), bounds(table, row, "bytes")
        if size is None or ios is None or total is None:
            continue
        yield None
        if overlap(times(ios, (size, size)), total, inference.LOOSE):
            continue
        text = f"{ios[0]:.0f} I/Os of {units.size(size)} are not {units.size(total[0])}"
        yield flag(row, text, broken=True, column="bytes", numbers={"ios": ios[0], "bytes": total[0]})
