"""Which unit and rounding a column of rates was printed in, found from the rows themselves.

A rate column says neither whether ``MB`` is 10^6 or 2^20 nor whether its numbers are rounded or cut off. Every row that
has IOPS and size says which readings it agrees with; the reading that most rows agree with is the column's, and only a
row that disagrees with *that* is suspicious.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from strata.analyse.laws.base import Interval, given, overlap, times
from strata.model.figures import Figure, Rounding, Row, Table

STRICT, LOOSE = 1e-6, 0.005
"""Which reading a column has is found without slack; a row is held to it within half a per cent (two clocks)."""


@dataclass(frozen=True)
class UnitReading:
    """A meaning of the rate's unit and of the size's, and what was done to the rate before it was printed."""

    unit: str
    scale: float
    size_unit: str
    size_scale: float
    rounding: Rounding

    @property
    def words(self) -> str:
        """``MiB/s, cut off``."""
        cut = {Rounding.DOWN: ", truncated", Rounding.NEAREST: ", rounded"}.get(self.rounding, "")
        return self.unit + cut


@dataclass(frozen=True)
class RateColumn:
    """The rows of one rate column in one printed unit, with the reading that most of them agree with."""

    rows: tuple[Row, ...]
    unit: str
    best: UnitReading
    agree: int


def columns(table: Table) -> Iterator[RateColumn]:
    """Each group of rows whose rates are printed in one unit and whose IOPS and size are known."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in given(table):
        rate, size = row.figures.get("rate"), table.figure(row, "size")
        if rate is None or size is None or "iops" not in row.figures or not rate.readings or not size.readings:
            continue
        found.setdefault((rate.unit, size.unit), []).append(row)
    for (unit, _), rows in found.items():
        options = list(_options(rows[0].figures["rate"], _size(table, rows[0])))
        # The literal meaning comes first, and max() keeps the first of equals.
        best = max(options, key=lambda r: sum(holds(table, row, r, STRICT) for row in rows))
        yield RateColumn(tuple(rows), unit, best, sum(holds(table, row, best, STRICT) for row in rows))


def holds(table: Table, row: Row, reading: UnitReading, slack: float) -> bool:
    """Whether IOPS × size and the printed rate can be the same number under this reading."""
    return overlap(product(table, row, reading), row.figures["rate"].bounds(reading.scale, reading.rounding), slack)


def product(table: Table, row: Row, reading: UnitReading) -> Interval:
    """IOPS × size in bytes a second."""
    return times(row.figures["iops"].bounds(), _size(table, row).bounds(reading.size_scale, Rounding.NEAREST))


def any_of(table: Table, row: Row, options: Iterable[UnitReading]) -> bool:
    """Whether the row holds under one of these, with slack."""
    return any(holds(table, row, reading, LOOSE) for reading in options)


def decimal(table: Table, column: RateColumn) -> list[UnitReading]:
    """The readings that take the column's unit by the letter."""
    rate = column.rows[0].figures["rate"]
    return [r for r in _options(rate, _size(table, column.rows[0])) if r.unit == rate.readings[0][0]]


def _options(rate: Figure, size: Figure) -> Iterator[UnitReading]:
    for unit, scale in rate.readings:
        for size_unit, size_scale in size.readings:
            for rounding in (Rounding.NEAREST, Rounding.DOWN):
                yield UnitReading(unit, scale, size_unit, size_scale, rounding)


def _size(table: Table, row: Row) -> Figure:
    size = table.figure(row, "size")
    assert size is not None
    return size
