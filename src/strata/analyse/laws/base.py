"""What several laws need: intervals of printed figures, rows that belong together, and one of our own runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strata.analyse.rounds import CellRounds
from strata.model.analysis import CellSummary, Comparison, Generator, NoiseFloor
from strata.model.figures import Figure, Flag, Role, Row, Table
from strata.model.groups import grouped
from strata.model.plan import Plan
from strata.model.run import DataSet

Interval = tuple[float, float]
NOISE = 0.05
"""Relative difference of equal measurements where a table does not state its own."""


Answers = Iterator[Flag | None]
"""What a law finds in a table or a run. None wherever it had the figures that it needs: where it gives nothing at all,
it could not be asked."""


def flag(row: Row | None, reason: str, next_step: str = "", **more: Any) -> Flag:
    """A caveat at a row, or of the whole table; with ``broken`` a violation. ``more``: further fields of `Flag`.

    Whoever asks the law says which it is, and its own next step where none is given here.
    """
    name, words = (row.name, row.words) if row else ("", {})
    return Flag(**{"law": "", "row": name, "words": words, "broken": False} | more, reason=reason, next_step=next_step)


@dataclass(frozen=True)
class RunView:
    """``rounds`` by (layer, workload key). ``devices``: whether any block device holds the data.

    ``memory`` is what the page cache may grow to, in bytes; None where it is not known.
    """

    plan: Plan
    rounds: Mapping[tuple[str, str], CellRounds]
    cells: Sequence[CellSummary]
    comparisons: Sequence[Comparison]
    noise: NoiseFloor
    data: DataSet | None = None
    generator: Generator | None = None
    devices: bool = True
    memory: int | None = None

    def of(self, cell: CellSummary) -> CellRounds:
        return self.rounds[(cell.layer, cell.workload.key)]


def caveat(reason: str, layer: str = "", workload_key: str = "") -> Flag:
    """A caveat of a figure, which does not make it impossible."""
    words = {word: name for word, name in (("layer", layer), ("workload", workload_key)) if name}
    return Flag(law="", row="/".join(words.values()), broken=False, reason=reason, next_step="", words=words)


def writes(table: Table, row: Row) -> bool:
    """Whether the row's pattern is one of writes."""
    return (table.word(row, "pattern") or "").endswith("write")


def is_random(table: Table, row: Row) -> bool:
    """Whether the row's pattern draws its offsets."""
    return "rand" in (table.word(row, "pattern") or "")


def value(table: Table, row: Row, key: str) -> float | None:
    """The figure in its base unit, None where there is none or its unit is unknown."""
    found = table.figure(row, key)
    return found.base if found is not None and found.readings else None


def bounds(table: Table, row: Row, key: str) -> Interval | None:
    """Between what the true value lies, the unit taken literally."""
    found = table.figure(row, key)
    return found.bounds() if found is not None and found.readings else None


def outstanding(table: Table, row: Row) -> float | None:
    """The N of Little's law that was asked for: in all, or depth × threads × hosts."""
    total = value(table, row, "outstanding")
    if total is not None:
        return total
    depth = value(table, row, "depth")
    many = (value(table, row, "threads") or 1) * (value(table, row, "hosts") or 1)
    return None if depth is None else depth * many


def rate_readings(figure: Figure | None) -> tuple[Interval, ...]:
    """What a rate may be under each meaning of its unit."""
    return () if figure is None else tuple(figure.bounds(scale) for _, scale in figure.readings)


def throughput(table: Table, row: Row) -> Interval | None:
    """I/Os a second: printed, else rate ÷ size over every meaning of their units."""
    direct = bounds(table, row, "iops")
    if direct is not None:
        return direct
    rate, size = table.figure(row, "rate"), value(table, row, "size")
    spans = rate_readings(rate)
    return (min(s[0] for s in spans) / size, max(s[1] for s in spans) / size) if spans and size else None


def noise(table: Table) -> float:
    """What equal measurements differ by, as the table states it or as is usual."""
    stated = table.figures.get("noise")
    return NOISE if stated is None else stated.base


def measured(table: Table, *keys: str) -> Iterator[Row]:
    """Measured rows that have all these figures themselves."""
    for row in table.of(Role.MEASURED):
        if all(k in row.figures and row.figures[k].readings for k in keys):
            yield row


def given(table: Table) -> Iterator[Row]:
    """Rows that state what is: measured or said, not planned."""
    return (row for row in table.rows if row.role is not Role.PLANNED)


def groups(rows: Iterable[Row], *leave_out: str) -> dict[tuple[tuple[str, str], ...], list[Row]]:
    """Rows whose labels differ only in those left out."""
    return grouped((row.like(*leave_out), row) for row in rows)


def overlap(a: Interval, b: Interval, slack: float = 1e-9) -> bool:
    """Whether two intervals share a value, each widened by the relative ``slack``."""
    return a[0] <= b[1] + slack * abs(b[1]) and b[0] <= a[1] + slack * abs(a[1])


def times(a: Interval, b: Interval) -> Interval:
    """The product of two intervals of positive numbers."""
    return max(a[0], 0) * max(b[0], 0), a[1] * b[1]


def percentiles(row: Row) -> list[tuple[float, str]]:
    """(percentile, key) of the times of a row in rising order; min and max are 0 and 100."""
    found = []
    for key in row.figures:
        kind, _, of = key.partition(".")
        if kind == "time" and (number := percentile_of(of)) is not None:
            found.append((number, key))
    return sorted(found)


def percentile_of(word: str) -> float | None:
    """50 from ``p50``; 0 and 100 from min and max."""
    if word in ("min", "max"):
        return 0.0 if word == "min" else 100.0
    number = word.removeprefix("p")
    return float(number) if word.startswith("p") and number.replace(".", "", 1).isdigit() else None


CROSSES, STAYS = 0.7, 0.3
"""Bytes for each byte from which on it crosses once, and up to which it does not: heads are a few per cent, and small
writes carry the file system's own beside them."""


def copies_beyond(written: float, read: float) -> int:
    """r, the copies beyond the owner's: what a byte that is written crosses more than one that is read.

    A read crosses no wire on the owner and one on a node that reaches the data through the owner; a write crosses r and
    1 + r. These are solved from the wire's bytes for each one of the application.
    """
    more = written - read
    return round(more) if more >= CROSSES else 0


def busier(asked: float, total: float) -> float:
    """Of ``total`` in both directions at the owner the busier one: ``asked`` comes from elsewhere, copies go out."""
    return max(asked, total - asked)


Points = Sequence[tuple[float, Figure]]
"""(percentile 0..100, its time), in rising order."""


def shares(mean: Figure, points: Points) -> list[tuple[float, float]]:
    """(percentile, least share 0..1 of all time beyond it).

    I/Os below a percentile take at most its time, those beyond at least its time: both bound the share beyond it from
    below (Markov's inequality).
    """
    body, before, found = 0.0, 0.0, []
    least, most = mean.bounds()
    for p, time in points:
        low, high = time.bounds()
        body += max(p - before, 0) / 100 * high
        before = p
        if p >= 100 or most <= 0:
            continue
        beyond = max(low, 0) * (1 - p / 100) / most
        rest = 1 - body / least if least > 0 else 0.0
        found.append((p, min(max(beyond, rest, 0.0), 1.0)))
    return found


def of_row(row: Row) -> tuple[Figure | None, Points]:
    """Mean and percentiles that stand in one row."""
    mean = row.figures.get("time.mean")
    return _known(mean), [(p, row.figures[k]) for p, k in percentiles(row)]


def of_table(table: Table) -> tuple[Figure | None, Points]:
    """The mean of the whole table, and the percentiles that have a row each."""
    mean = table.figures.get("time.mean")
    rows = ((value(table, r, "percentile"), r) for r in table.of(Role.MEASURED) if "time" in r.figures)
    points = sorted(((p, r.figures["time"]) for p, r in rows if p is not None), key=lambda one: one[0])
    return _known(mean), points


def _known(mean: Figure | None) -> Figure | None:
    return mean if mean is not None and mean.readings else None
